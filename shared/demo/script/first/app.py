"""The board's web server: requests come in here."""

import os
import socketserver
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class BoardServer(ThreadingHTTPServer):
    """Serves the board that is kept at `path` on a port of 127.0.0.1; port 0 takes a free one."""

    def __init__(self, port, path):
        super().__init__(("127.0.0.1", port), Handler)

    def server_bind(self):
        # HTTPServer would look up the host's name, which takes long where no name server answers.
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = self.server_address[:2]


class Handler(BaseHTTPRequestHandler):
    """Answers one request."""

    def do_GET(self):
        self.answer(404, "<h1>Not found</h1>")

    def answer(self, status, page):
        """Sends a page."""
        data = page.encode("utf-8")
        self.send_response(status)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format, *args):
        pass


def main():
    port = int(os.environ.get("PORT", "8000"))
    path = os.environ.get("KANBAN_DB", "kanban.db")
    with BoardServer(port, path) as server:
        print(f"The board is on http://127.0.0.1:{server.server_port}/", flush=True)
        server.serve_forever()


if __name__ == "__main__":
    main()

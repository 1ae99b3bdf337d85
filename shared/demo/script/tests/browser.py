"""What a person does with the board: open a page, fill in a form, follow a link, look."""

import os
import tempfile
import threading
import unittest
import urllib.error
import urllib.parse
import urllib.request
from html.parser import HTMLParser

from kanban.app import BoardServer

WITHOUT_END_TAG = {"br", "hr", "img", "input", "link", "meta"}


class Element:
    """An element of a page with everything in it."""

    def __init__(self, tag, attributes):
        self.tag = tag
        self.attributes = attributes
        self.children = []

    def all(self, tag, **attributes):
        """Every element in this one with that tag and those attributes (`class_` for class)."""
        wanted = {name.rstrip("_"): value for name, value in attributes.items()}
        found = []
        for child in self.children:
            if isinstance(child, Element):
                if tag in ("*", child.tag) and wanted.items() <= child.attributes.items():
                    found.append(child)
                found.extend(child.all(tag, **attributes))
        return found

    def one(self, tag, **attributes):
        """The only such element."""
        found = self.all(tag, **attributes)
        if len(found) != 1:
            raise AssertionError(f"one <{tag}> with {attributes} was expected, the page has {len(found)}")
        return found[0]

    def text(self):
        """What a person reads here."""
        return " ".join(
            " ".join(child.text() if isinstance(child, Element) else child for child in self.children).split()
        )

    def form(self, button):
        """The only form with a button of that name."""
        forms = [form for form in self.all("form") if button in [b.text() for b in form.all("button")]]
        if len(forms) != 1:
            raise AssertionError(f"one form with the button {button!r} was expected, found {len(forms)}")
        return forms[0]


class Page(Element, HTMLParser):
    """A page as it came over HTTP."""

    def __init__(self, status, html):
        Element.__init__(self, "page", {})
        HTMLParser.__init__(self)
        self.status = status
        self.open_elements = [self]
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attrs):
        element = Element(tag, {name: value or "" for name, value in attrs})
        self.open_elements[-1].children.append(element)
        if tag not in WITHOUT_END_TAG:
            self.open_elements.append(element)

    def handle_endtag(self, tag):
        if tag == self.open_elements[-1].tag:
            self.open_elements.pop()

    def handle_data(self, data):
        self.open_elements[-1].children.append(data)


class Browser:
    """Opens the pages of one server."""

    def __init__(self, port):
        self.address = f"http://127.0.0.1:{port}"
        self.opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def open(self, path, data=None):
        """The page at a path, after all redirects."""
        try:
            with self.opener.open(self.address + path, data, timeout=5) as answer:
                return Page(answer.status, answer.read().decode("utf-8"))
        except urllib.error.HTTPError as error:
            with error:
                return Page(error.code, error.read().decode("utf-8"))

    def follow(self, element, link):
        """The page behind the only link with that text."""
        links = [a for a in element.all("a") if a.text() == link]
        if len(links) != 1:
            raise AssertionError(f"one link {link!r} was expected, found {len(links)}")
        return self.open(links[0].attributes["href"])

    def submit(self, form, **values):
        """Fills in a form and presses its button; fields without a value keep what they show."""
        fields = {field.attributes["name"]: field.attributes.get("value", "") for field in form.all("input")}
        for field in form.all("textarea"):
            fields[field.attributes["name"]] = field.text()
        for field in form.all("select"):
            chosen = [option for option in field.all("option") if "selected" in option.attributes]
            fields[field.attributes["name"]] = (chosen or field.all("option"))[0].attributes["value"]
        for name, value in values.items():
            if name not in fields:
                raise AssertionError(f"the form has no field {name!r}, only {sorted(fields)}")
            fields[name] = value
        query = urllib.parse.urlencode(fields)
        action = form.attributes["action"]
        if form.attributes.get("method", "get").lower() == "post":
            return self.open(action, query.encode("ascii"))
        return self.open(f"{action}?{query}")


class BoardTest(unittest.TestCase):
    """A test with a fresh board of its own."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "board.db")
        self.start()
        self.addCleanup(self.stop)

    def start(self):
        self.server = BoardServer(0, self.path)
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.01,))
        self.thread.start()
        self.browser = Browser(self.server.server_port)

    def stop(self):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()

    def add(self, title):
        """Adds a card as a person does, and gives the page that follows."""
        return self.browser.submit(self.browser.open("/").form("Add card"), title=title)

    def titles(self, column, page=None):
        """The titles that a column shows, from the top."""
        page = page or self.browser.open("/")
        return [title.text() for title in page.one("section", id=column).all("*", class_="title")]

    def card(self, title, page=None):
        """The card with that title on the board."""
        page = page or self.browser.open("/")
        cards = [c for c in page.all("li", class_="card") if c.one("*", class_="title").text() == title]
        self.assertEqual(len(cards), 1, f"cards with the title {title!r}")
        return cards[0]

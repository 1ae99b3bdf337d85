"""The pages as HTML."""

COLUMNS = [("todo", "To do"), ("doing", "Doing"), ("done", "Done")]

STYLE = """
body { font-family: sans-serif; margin: 2rem; background: #f4f5f7; color: #172b4d }
main { display: flex; gap: 1rem; align-items: flex-start }
form { margin: 0 0 1rem }
input, textarea, select, button { font: inherit; padding: .3rem .5rem }
.column { flex: 1; min-height: 8rem; padding: .75rem; border-radius: 6px; background: #dfe1e6 }
.column h2 { display: inline-block; margin: 0 .5rem .5rem 0; font-size: 1rem }
.column ul { margin: 0; padding: 0; list-style: none }
.card { margin-bottom: .5rem; padding: .5rem; border-radius: 4px; background: #fff }
.card form { margin: .5rem 0 0 }
.error { color: #bf2600 }
"""


def layout(title, body):
    """A whole page."""
    return (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
        f'<title>{title}</title><link rel="icon" href="data:,"><style>{STYLE}</style></head>'
        f"<body>{body}</body></html>"
    )


def board():
    """The board."""
    columns = "".join(column(key, name) for key, name in COLUMNS)
    return layout("Kanban board", f"<h1>Kanban board</h1><main>{columns}</main>")


def column(key, name):
    """One column of the board."""
    return f'<section class="column" id="{key}"><h2>{name}</h2><ul></ul></section>'


def not_found():
    """The page for everything that is not there."""
    return layout("Not found", '<h1>Not found</h1><p><a href="/">Back to the board</a></p>')

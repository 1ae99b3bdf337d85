"""F005: HTML in a title is text, not a part of the page."""

from tests.browser import BoardTest


class Escaping(BoardTest):
    def test_tags_and_quotes_are_shown_as_they_were_typed(self):
        titles = ["<b>Bold</b> & brave", "<script>alert('hello')</script>", 'Say "yes" &amp; go']
        for title in titles:
            self.add(title)
        page = self.browser.open("/")
        self.assertEqual(self.titles("todo", page), titles)
        self.assertEqual(page.all("script") + page.all("b"), [])

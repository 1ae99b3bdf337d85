"""F003: a card without a title is refused."""

from tests.browser import BoardTest


class EmptyTitle(BoardTest):
    def test_an_empty_title_adds_no_card(self):
        page = self.browser.open("/")
        self.assertEqual(page.all("li", class_="card"), [])

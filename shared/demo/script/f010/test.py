"""F010: a search shows only the cards that contain a text."""

from tests.browser import BoardTest


class Search(BoardTest):
    def search(self, text):
        return self.browser.submit(self.browser.open("/").form("Search"), q=text)

    def setUp(self):
        super().setUp()
        for title in ["Buy milk", "Sell the bike", "Pay 50% now"]:
            self.add(title)
        self.browser.submit(self.card("Sell the bike").form("Move"), place="done")

    def test_only_cards_with_the_text_are_shown(self):
        page = self.search("MILK")
        self.assertEqual(page.status, 200)
        self.assertEqual(self.titles("todo", page), ["Buy milk"])
        self.assertEqual(self.titles("done", page), [])
        self.assertEqual(page.one("section", id="todo").one("*", class_="count").text(), "1")

    def test_signs_that_mean_something_elsewhere_are_plain_text(self):
        self.assertEqual(self.titles("todo", self.search("0%")), ["Pay 50% now"])
        self.assertEqual(self.titles("todo", self.search("%n")), [])

    def test_descriptions_are_searched_too(self):
        page = self.browser.follow(self.browser.open("/"), "Sell the bike")
        self.browser.submit(page.form("Save"), description="Ask Zoë & Ann first")
        self.assertEqual(self.titles("done", self.search("zoë & ann")), ["Sell the bike"])

    def test_the_text_stays_in_the_field_and_an_empty_one_shows_all(self):
        page = self.search('"quoted"')
        self.assertEqual(page.form("Search").one("input").attributes["value"], '"quoted"')
        page = self.browser.submit(page.form("Search"), q="")
        self.assertEqual(self.titles("todo", page), ["Buy milk", "Pay 50% now"])

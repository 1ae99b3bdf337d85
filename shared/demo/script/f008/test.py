"""F008: a card has a page of its own, where its title and description can be changed."""

from tests.browser import BoardTest


class CardPage(BoardTest):
    def card_page(self, title):
        return self.browser.follow(self.browser.open("/"), title)

    def test_title_and_description_can_be_changed(self):
        self.add("Buy milk")
        page = self.card_page("Buy milk")
        self.assertEqual(page.one("h1").text(), "Buy milk")
        page = self.browser.submit(page.form("Save"), title="Buy <oat> milk", description='Two "big" bottles')
        self.assertEqual(page.status, 200)
        self.assertEqual(page.one("h1").text(), "Buy <oat> milk")
        self.assertEqual(page.one("textarea").text(), 'Two "big" bottles')
        self.assertEqual(self.titles("todo", self.browser.follow(page, "Back to the board")), ["Buy <oat> milk"])

    def test_an_empty_title_is_refused_and_nothing_is_changed(self):
        self.add("Buy milk")
        page = self.browser.submit(self.card_page("Buy milk").form("Save"), title=" ", description="Lost")
        self.assertEqual(page.status, 400)
        self.assertEqual(page.one("p", class_="error").text(), "A card needs a title.")
        self.assertEqual(self.card_page("Buy milk").one("textarea").text(), "")

    def test_a_description_survives_a_restart(self):
        self.add("Buy milk")
        self.browser.submit(self.card_page("Buy milk").form("Save"), description="Two bottles")
        self.stop()
        self.start()
        self.assertEqual(self.card_page("Buy milk").one("textarea").text(), "Two bottles")

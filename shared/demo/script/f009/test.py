"""F009: a card can be deleted from its page."""

from tests.browser import BoardTest


class DeleteCard(BoardTest):
    def test_a_deleted_card_leaves_the_board(self):
        self.add("Buy milk")
        self.add("Call Ann")
        page = self.browser.follow(self.browser.open("/"), "Buy milk")
        board = self.browser.submit(page.form("Delete card"))
        self.assertEqual(board.status, 200)
        self.assertEqual(self.titles("todo", board), ["Call Ann"])

    def test_the_page_of_a_deleted_card_is_not_found(self):
        self.add("Buy milk")
        link = self.card("Buy milk").one("a").attributes["href"]
        self.browser.submit(self.browser.open(link).form("Delete card"))
        self.assertEqual(self.browser.open(link).status, 404)

    def test_a_new_card_does_not_take_the_place_of_a_deleted_one(self):
        self.add("Buy milk")
        link = self.card("Buy milk").one("a").attributes["href"]
        self.browser.submit(self.browser.open(link).form("Delete card"))
        self.add("Call Ann")
        self.assertEqual(self.browser.open(link).status, 404)

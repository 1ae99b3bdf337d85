"""F001: the board shows its three columns."""

from tests.browser import BoardTest


class ThreeColumns(BoardTest):
    def test_the_board_shows_three_columns_in_order(self):
        page = self.browser.open("/")
        self.assertEqual(page.status, 200)
        self.assertEqual(page.one("h1").text(), "Kanban board")
        self.assertEqual([heading.text() for heading in page.all("h2")], ["To do", "Doing", "Done"])

    def test_another_address_is_not_found_and_leads_back(self):
        page = self.browser.open("/nowhere")
        self.assertEqual(page.status, 404)
        board = self.browser.follow(page, "Back to the board")
        self.assertEqual(board.status, 200)

"""F007: each column shows how many cards it has."""

from tests.browser import BoardTest


class Counts(BoardTest):
    def counts(self):
        page = self.browser.open("/")
        return [page.one("section", id=key).one("*", class_="count").text() for key in ["todo", "doing", "done"]]

    def test_an_empty_board_counts_nothing(self):
        self.assertEqual(self.counts(), ["0", "0", "0"])

    def test_each_column_counts_its_own_cards(self):
        for title in ["Buy milk", "Call Ann", "Pay rent"]:
            self.add(title)
        self.browser.submit(self.card("Call Ann").form("Move"), place="done")
        self.assertEqual(self.counts(), ["2", "0", "1"])

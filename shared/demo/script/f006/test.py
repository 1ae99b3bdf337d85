"""F006: a card can be moved to another column."""

from tests.browser import BoardTest


class MoveCard(BoardTest):
    def move(self, title, place):
        return self.browser.submit(self.card(title).form("Move"), place=place)

    def test_a_card_moves_through_all_columns_and_back(self):
        self.add("Buy milk")
        for place in ["doing", "done", "todo"]:
            page = self.move("Buy milk", place)
            self.assertEqual(page.status, 200)
            for column in ["todo", "doing", "done"]:
                self.assertEqual(self.titles(column, page), ["Buy milk"] if column == place else [])

    def test_only_the_chosen_card_moves(self):
        for title in ["Buy milk", "Call Ann", "Pay rent"]:
            self.add(title)
        self.move("Call Ann", "done")
        self.assertEqual(self.titles("todo"), ["Buy milk", "Pay rent"])
        self.assertEqual(self.titles("done"), ["Call Ann"])

    def test_the_form_shows_where_the_card_is(self):
        self.add("Buy milk")
        self.move("Buy milk", "doing")
        chosen = [o.text() for o in self.card("Buy milk").all("option") if "selected" in o.attributes]
        self.assertEqual(chosen, ["Doing"])

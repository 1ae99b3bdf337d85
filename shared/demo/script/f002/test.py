"""F002: a card can be added to the first column."""

from tests.browser import BoardTest


class AddCard(BoardTest):
    def test_a_new_card_stands_in_the_first_column(self):
        page = self.add("Buy milk")
        self.assertEqual(page.status, 200)
        self.assertEqual(self.titles("todo", page), ["Buy milk"])
        self.assertEqual(self.titles("doing", page), [])
        self.assertEqual(self.titles("done", page), [])

    def test_cards_stand_in_the_order_in_which_they_came(self):
        for title in ["Buy milk", "Call Zoë", "Pay 50% of the rent"]:
            self.add(title)
        self.assertEqual(self.titles("todo"), ["Buy milk", "Call Zoë", "Pay 50% of the rent"])

"""F004: the cards survive a restart of the server."""

from tests.browser import BoardTest


class Restart(BoardTest):
    def test_cards_are_still_there_after_a_restart(self):
        self.add("Buy milk")
        self.add("Call Ann")
        self.stop()
        self.start()
        self.assertEqual(self.titles("todo"), ["Buy milk", "Call Ann"])

    def test_the_order_goes_on_after_a_restart(self):
        self.add("Before")
        self.stop()
        self.start()
        self.add("After")
        self.assertEqual(self.titles("todo"), ["Before", "After"])

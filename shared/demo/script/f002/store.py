"""The cards."""

import threading
from dataclasses import dataclass


@dataclass
class Card:
    """One card; `place` is the key of its column."""

    id: int
    title: str
    place: str


class Store:
    """Keeps the cards in memory."""

    def __init__(self):
        self.lock = threading.Lock()
        self.kept = []

    def add(self, title):
        """Puts a new card at the end of the first column."""
        with self.lock:
            self.kept.append(Card(len(self.kept) + 1, title, "todo"))

    def cards(self):
        """All cards, oldest first."""
        with self.lock:
            return list(self.kept)

"""The cards."""

import sqlite3
from dataclasses import dataclass


@dataclass
class Card:
    """One card; `place` is the key of its column."""

    id: int
    title: str
    place: str


class Store:
    """Keeps the cards in an SQLite file."""

    def __init__(self, path):
        self.db = sqlite3.connect(path)
        self.db.execute(
            "CREATE TABLE IF NOT EXISTS cards (id INTEGER PRIMARY KEY, title TEXT NOT NULL, place TEXT NOT NULL)"
        )

    def add(self, title):
        """Puts a new card at the end of the first column."""
        with self.db:
            self.db.execute("INSERT INTO cards (title, place) VALUES (?, 'todo')", (title,))

    def cards(self):
        """All cards, oldest first."""
        return [Card(*row) for row in self.db.execute("SELECT id, title, place FROM cards ORDER BY id")]

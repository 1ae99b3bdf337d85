"""The cards."""

import sqlite3
from contextlib import contextmanager
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
        self.path = path
        with self.connection() as db:
            db.execute(
                "CREATE TABLE IF NOT EXISTS cards ("
                "id INTEGER PRIMARY KEY AUTOINCREMENT, title TEXT NOT NULL, place TEXT NOT NULL)"
            )

    @contextmanager
    def connection(self):
        # One for each call: every request has a thread of its own, and SQLite's connections must not
        # leave theirs.
        db = sqlite3.connect(self.path)
        try:
            with db:
                yield db
        finally:
            db.close()

    def add(self, title):
        """Puts a new card at the end of the first column."""
        with self.connection() as db:
            db.execute("INSERT INTO cards (title, place) VALUES (?, 'todo')", (title,))

    def cards(self):
        """All cards, oldest first."""
        with self.connection() as db:
            return [Card(*row) for row in db.execute("SELECT id, title, place FROM cards ORDER BY id")]

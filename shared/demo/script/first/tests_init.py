"""Tests of the board, one file per feature."""

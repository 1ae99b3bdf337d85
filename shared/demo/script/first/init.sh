#!/bin/sh
# Prepares nothing, checks everything: the board needs Python 3.9 with sqlite3 and no packages.
set -eu
cd "$(dirname "$0")"
python3 -c '
import sqlite3, sys
if sys.version_info < (3, 9):
    sys.exit("Python 3.9 or newer is needed, this is " + sys.version.split()[0])
print("Python", sys.version.split()[0], "with SQLite", sqlite3.sqlite_version)
'

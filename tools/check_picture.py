"""Tells which terminal pictures are not what the views draw today."""

from __future__ import annotations

import sys

from tools.picture import FOLDER, find_stale

if __name__ == "__main__":
    found = find_stale(FOLDER)
    for path in found:
        print(f"{path}: not what the views draw today; python -m tools.picture draws it")
    sys.exit(bool(found))

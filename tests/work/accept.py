"""Writes the current counts to the table: `python -m tests.work.accept`.

The table is in the repository, so that a reviewer sees which counts a change moves.
"""

import tempfile
from pathlib import Path

from tests.work import table
from tests.work.operations import PLAIN, SEMANTIC, Story, count_steps

if __name__ == "__main__":
    old = table.read_accepted() if table.PATH.exists() else {}
    with tempfile.TemporaryDirectory() as directory:
        new = dict(count_steps(Story(Path(directory)), PLAIN + SEMANTIC))
    table.accept(old, new)
    print("\n".join(table.differences(old, new)) or "no count has changed")

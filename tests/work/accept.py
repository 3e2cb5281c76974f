"""Takes what is done now for what is to be done: `python -m tests.work.accept`.

The table is part of the repository, so whoever reviews the change sees which counts it moves.
"""

import tempfile
from pathlib import Path

from tests.work import table
from tests.work.operations import MEANING, PLAIN, Story, counted

if __name__ == "__main__":
    old = table.accepted() if table.PATH.exists() else {}
    with tempfile.TemporaryDirectory() as directory:
        new = dict(counted(Story(Path(directory)), PLAIN + MEANING))
    table.accept(old, new)
    print("\n".join(table.differences(old, new)) or "nothing has changed")

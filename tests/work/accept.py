"""Writes the current counts to the table: `python -m tests.work.accept`.

The table is in the repository, so that a reviewer sees which counts a change moves.
"""

from tests.work import table
from tests.work.operations import PLAIN, SEMANTIC, Story, count_steps, make_directory

if __name__ == "__main__":
    old = table.read_accepted() if table.PATH.exists() else {}
    with make_directory() as directory:
        new = dict(count_steps(Story(directory), PLAIN + SEMANTIC))
    table.accept(old, new)
    print("\n".join(table.differences(old, new)) or "no count has changed")

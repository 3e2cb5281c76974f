"""Count the calls of each tool in each project."""

import numpy as np

from ccgrep.stats.column_file import Array
from ccgrep.stats.duplicates import sum_by_code, values_at
from ccgrep.stats.merged_tally import MergedTally

_MAX_DENSE_PAIRS = 50_000


class ToolProjects:
    """Sums the calls and errors of each tool in each project, shard by shard.

    The sums are an array with a slot for each pair of tool and project, or a dictionary if there
    would be too many slots.
    """

    def __init__(self, tally: MergedTally) -> None:
        self._project = tally["session.project"][tally["turn.session"]]
        self._names = tally.words("project")
        size = len(tally.words("tool")) * len(self._names)
        self._dense: Array = np.zeros((2, size if size <= _MAX_DENSE_PAIRS else 0))
        self._sparse: dict[int, tuple[int, int]] = {}

    def add(self, turn: Array, tool: Array, calls: Array, errors: Array) -> None:
        pairs = tool.astype(np.int64) * len(self._names) + self._project[turn]
        if size := self._dense.shape[1]:
            self._dense[0] += sum_by_code(pairs, calls, size)
            self._dense[1] += sum_by_code(pairs, errors, size)
            return
        distinct, at = np.unique(pairs, return_inverse=True)
        sums = [sum_by_code(at, column, len(distinct)) for column in (calls, errors)]
        for i, pair in enumerate(distinct.tolist()):
            known = self._sparse.get(pair, (0, 0))
            self._sparse[pair] = known[0] + int(sums[0][i]), known[1] + int(sums[1][i])

    def by_tool(self) -> dict[int, tuple[tuple[str, int, int], ...]]:
        """Return the projects of each tool, those with the most calls first."""
        used = np.flatnonzero(self._dense[0]).tolist()
        dense = {i: tuple(values_at(self._dense, i)) for i in used}
        projects: dict[int, list[tuple[str, int, int]]] = {}
        for pair, (calls, errors) in (dense | self._sparse).items():
            tool, project = divmod(pair, len(self._names))
            projects.setdefault(tool, []).append((self._names[project], calls, errors))
        return {
            tool: tuple(sorted(rows, key=lambda row: (-row[1], row[0])))
            for tool, rows in projects.items()
        }

"""Find the sessions that share an id: `<id>`, `<id>~2`, `<id>~3`, …"""

from collections.abc import Collection, Iterable, Iterator
from itertools import chain, count

from ccgrep.store.commit import Commit
from ccgrep.store.manifest import Row


class Namesakes:
    """The ids of the sessions of a commit, by the id in their transcripts."""

    def __init__(self, commit: Commit, rows: Iterable[Row]) -> None:
        self._commit = commit
        self._ids: dict[str, set[str]] = {}
        for row in rows:
            self.add(row.base_id, row.session.id)

    def add(self, base_id: str, id: str) -> None:
        self._ids.setdefault(base_id, set()).add(id)

    def find(self, base_id: str, is_superseded: bool = False) -> Iterator[Row]:
        """Yield the sessions with an id, the oldest first."""
        for name in sorted(self._ids.get(base_id, ()), key=lambda name: (len(name), name)):
            row = self._commit.row(name)
            if row is not None and row.is_superseded == is_superseded:
                yield row

    def take_free_id(self, base_id: str) -> str:
        """Return an id that no session has, and reserve it."""
        id = find_free_id(base_id, base_id, self._ids.get(base_id, ()))
        self.add(base_id, id)
        return id


def find_free_id(id: str, base_id: str, taken: Collection[str]) -> str:
    """Return `id`, or the first of `<base_id>~2`, `<base_id>~3`, … if it is taken."""
    names = chain([id], (f"{base_id}~{number}" for number in count(2)))
    return next(name for name in names if name not in taken)

"""The options of an ingest, its progress, and the report it ends with."""

from collections import Counter
from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import replace

from ccgrep.kinds import SourceName
from ccgrep.sources.registry import Root


class Options(Struct, frozen=True):
    """How an ingest runs."""

    wait_s: float = 10.0  # for the writer lock
    is_full: bool = False  # read every transcript again
    is_scanning: bool = False  # list the roots even if nothing changed in the listed folders
    workers: int = 0  # processes of a large run; 0: one per core
    commit_every_s: float = 10.0
    roots: tuple[Root, ...] = ()
    exclude: tuple[str, ...] = ()
    temp_dirs: tuple[str, ...] = ()
    budget_s: float | None = None  # stop reading after this CPU time; the next ingest continues
    kinds: tuple[str, ...] | None = None  # text kinds to index; None keeps the present choice
    is_archived: bool = True  # store the bytes of the files too
    plugin_variables: Mapping[str, str] = {}  # where the agents of plug-ins are
    project_sources: tuple[SourceName, ...] = ()  # the agents to look for in known projects


class Progress(Struct, frozen=True):
    """How far an ingest has come."""

    path: str
    files_done: int
    files: int
    bytes_done: int
    bytes: int


class IndexReport(Struct):
    """What an ingest did."""

    files_seen: int = 0
    files_parsed: int = 0
    bytes_parsed: int = 0
    turns: int = 0
    new_objects: int = 0
    new_sessions: int = 0
    documents: int = 0
    behind_files: int = 0
    behind_bytes: int = 0
    bad_lines: int = 0
    unknown_types: dict[str, int] = {}
    seconds: float = 0.0
    troubles: list[str] = []
    plugin_problems: list[str] = []

    def add(self, later: "IndexReport") -> "IndexReport":
        """Return what this ingest and a later one of the same roots did."""
        counts = {name: getattr(self, name) + getattr(later, name) for name in _SUMS}
        types = Counter(self.unknown_types) + Counter(later.unknown_types)
        return replace(later, **counts, unknown_types=dict(types))


_SUMS = ("files_parsed", "bytes_parsed", "turns", "new_objects", "new_sessions", "bad_lines")

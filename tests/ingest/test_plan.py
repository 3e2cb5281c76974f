"""A plan lists every difference once, and an applied plan is empty."""

from hypothesis import given
from hypothesis import strategies as st

from ccgrep.ingest.plan import plan
from ccgrep.sources.scan import FoundFile, Scan
from ccgrep.store.manifest import SourceFile

SECOND = 1_000_000_000
NOW = 1_000 * SECOND

roots = st.sampled_from(["/a", "/b"])
paths = st.builds("{}/{}".format, roots, st.integers(0, 5))
stats = st.tuples(st.integers(0, 2), st.integers(0, 2).map(lambda s: s * SECOND), st.integers(1, 2))
found = st.dictionaries(paths, stats, max_size=8)
known = st.dictionaries(paths, st.tuples(stats, st.integers(0, 5)), max_size=8)


def seen(files: dict[str, tuple[int, int, int]], complete: list[str]) -> Scan:
    return Scan(
        {p: FoundFile(p, "codex", "session", p[:2], *stat) for p, stat in files.items()},
        {},
        complete,
        [],
    )


def file(path: str, stat: tuple[int, int, int], read_ns: int) -> SourceFile:
    return SourceFile(path, path[:2], *stat, read_ns)


@given(known, found, st.sets(roots))
def test_every_path_is_listed_once_and_an_applied_plan_is_empty(
    before: dict[str, tuple[tuple[int, int, int], int]],
    after: dict[str, tuple[int, int, int]],
    complete: set[str],
) -> None:
    old = {path: file(path, stat, read * SECOND) for path, (stat, read) in before.items()}
    scan = seen(after, sorted(complete))
    todo = plan(old, scan, NOW)
    named = [*todo.new, *todo.changed, *todo.suspect, *todo.gone]
    assert len(named) == len(set(named))
    assert set(todo.new) == set(after) - set(before)
    assert set(todo.gone) == {p for p in set(before) - set(after) if p[:2] in complete}
    assert {p for p in after if p in before and after[p] != before[p][0]} == set(todo.changed)

    applied = {path: f for path, f in old.items() if path not in todo.gone}
    applied |= {
        path: file(path, after[path], NOW) for path in (*todo.new, *todo.changed, *todo.suspect)
    }
    assert plan(applied, scan, NOW) == plan({}, seen({}, []), NOW)

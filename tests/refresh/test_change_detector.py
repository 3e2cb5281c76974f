"""Change detection: what the seen file says about transcripts, and when it says nothing."""

import os
from pathlib import Path

import pytest

from ccgrep.refresh.change_detector import detect_changes
from tests.helpers.homes import Home


def fill(home: Home, sessions: int) -> list[Path]:
    """Ingest sessions that were last written some time ago."""
    paths = []
    for number in range(sessions):
        file = home.claude(number)
        file.turn(f"why {number}", "because")
        paths.append(file.write())
    home.rest()
    home.index()
    return paths


def changes(home: Home) -> list[str] | None:
    roots = [root.path for root in home.config.roots]
    return detect_changes(home.config.store_dir, roots)


@pytest.mark.parametrize("grown", [(), (0,), (5,), (0, 5), tuple(range(6))])
def test_grown_transcripts_are_reported(home: Home, grown: tuple[int, ...]) -> None:
    paths = fill(home, 6)
    for number in grown:
        with paths[number].open("ab") as file:
            file.write(b"\n")
    assert sorted(changes(home) or []) == sorted(str(paths[number]) for number in grown)


def test_replaced_transcript_of_the_same_size_and_time_is_reported(home: Home) -> None:
    (path,) = fill(home, 1)
    file, folder = path.stat(), path.parent.stat()
    copy = path.with_name("copy")
    copy.write_bytes(path.read_bytes())
    copy.rename(path)
    os.utime(path, ns=(file.st_atime_ns, file.st_mtime_ns))
    os.utime(path.parent, ns=(folder.st_atime_ns, folder.st_mtime_ns))
    assert changes(home) == [str(path)]


def test_rewritten_transcript_with_a_restored_mtime_is_reported_and_read(home: Home) -> None:
    (path,) = fill(home, 1)
    before = path.stat()
    path.write_bytes(path.read_bytes().replace(b"because", b"nothing"))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    after = path.stat()
    assert (after.st_size, after.st_mtime_ns) == (before.st_size, before.st_mtime_ns)
    assert changes(home) == [str(path)]
    assert home.run("nothing", "-l").stdout
    assert changes(home) == []


@pytest.mark.parametrize("gone", range(4))
def test_deleted_transcript_requires_a_scan(home: Home, gone: int) -> None:
    paths = fill(home, 4)
    assert changes(home) == []
    paths[gone].unlink()
    assert changes(home) is None


def test_new_transcript_requires_a_scan(home: Home) -> None:
    fill(home, 1)
    other = home.claude(7)
    other.turn("a new file", "yes")
    other.write()
    assert changes(home) is None


@pytest.mark.parametrize("roots", [[], ["/somewhere/else"], ["twice", "twice"]])
def test_other_roots_require_a_scan(home: Home, roots: list[str]) -> None:
    fill(home, 1)
    assert detect_changes(home.config.store_dir, roots) is None


def test_other_exclude_patterns_require_a_scan(home: Home) -> None:
    fill(home, 1)
    roots = [root.path for root in home.config.roots]
    assert detect_changes(home.config.store_dir, roots, ("*/secret",)) is None


def test_missing_store_requires_a_scan(tmp_path: Path) -> None:
    assert detect_changes(str(tmp_path / "nowhere"), ["/somewhere"]) is None


def test_truncated_seen_file_never_reports_fresh(home: Home) -> None:
    fill(home, 2)
    seen = home.store_dir / "seen"
    whole = seen.read_bytes()
    end = whole.rindex(b"crc32 ")
    for length in range(end):
        seen.write_bytes(whole[:length])
        assert changes(home) is None, length
    seen.write_bytes(whole[:end])
    assert changes(home) == []


def test_mtime_before_1970_counts_as_changed(home: Home) -> None:
    (path,) = fill(home, 1)
    os.utime(path, (-1000, -1000))
    home.index()
    assert changes(home) == [str(path)]


def test_transcript_written_just_before_the_ingest_counts_as_changed(home: Home) -> None:
    """Its next write may leave the same mtime."""
    file = home.claude(1)
    file.turn("why", "because")
    path = file.write()
    home.rest()
    home.index()
    file.turn("really", "yes")
    file.append()
    home.index()
    assert changes(home) == [str(path)]

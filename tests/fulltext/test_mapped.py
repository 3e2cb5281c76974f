"""Pages of an index that is being merged are given back to the kernel when they are many."""

import gc
import mmap
import os
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest
import tantivy

from ccgrep.fulltext import writer
from ccgrep.fulltext.document import Fields
from ccgrep.refresh.mapped import _mapped_bytes, keep_small
from tests.helpers.homes import Home

MEGABYTE = 1024 * 1024


@pytest.mark.parametrize("is_removed", [False, True])
def test_what_is_mapped_is_kept_small(tmp_path: Path, is_removed: bool) -> None:
    path = tmp_path / "segment"
    with path.open("wb") as written:
        written.write(b"x" * 64 * MEGABYTE)
        os.fsync(written.fileno())  # as tantivy does: what is not on the disk stays in memory
    least = _mapped_bytes()
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as pages:
        end = keep_small(str(tmp_path), 16 * MEGABYTE)
        if is_removed:
            path.unlink()
        assert pages[:: mmap.PAGESIZE] == b"x" * (64 * MEGABYTE // mmap.PAGESIZE)
        deadline = time.monotonic() + 10
        while _mapped_bytes() > least + 20 * MEGABYTE and time.monotonic() < deadline:
            time.sleep(0.01)
        assert _mapped_bytes() < least + 20 * MEGABYTE
        end()
        assert pages[-1] == ord("x")


@pytest.mark.parametrize("is_failing", [False, True])
def test_a_writer_of_many_is_watched_until_it_ends(
    home: Home, monkeypatch: pytest.MonkeyPatch, is_failing: bool
) -> None:
    """From the first of many documents on: what is written is merged while more are added."""
    seen: list[int] = []
    add = writer._made

    def made(document: Fields, schema: tantivy.Schema) -> tantivy.Document:
        seen.append(threading.active_count())
        if is_failing and len(seen) == 4:
            raise ValueError
        return add(document, schema)

    monkeypatch.setattr(writer, "_MANY", 2)
    monkeypatch.setattr(writer, "_made", made)
    file = home.claude(1)
    for number in range(5):
        file.turn(f"prompt {number}", "answer")
    file.write()
    threads = threading.active_count()

    with suppress(ValueError):
        home.index()

    assert [count - threads for count in seen[:4]] == [0, 0, 1, 1]
    gc.collect()
    assert threading.active_count() == threads

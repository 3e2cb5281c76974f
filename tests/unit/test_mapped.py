"""Pages of an index that is being merged are given back to the kernel when they are many."""

import mmap
import os
import threading
import time
from pathlib import Path

import pytest

from ccgrep.index.mapped import _mapped_bytes, kept_small

MEGABYTE = 1024 * 1024


@pytest.mark.parametrize("is_removed", [False, True])
def test_what_is_mapped_is_kept_small(tmp_path: Path, is_removed: bool) -> None:
    path = tmp_path / "segment"
    with path.open("wb") as written:
        written.write(b"x" * 64 * MEGABYTE)
        os.fsync(written.fileno())  # as tantivy does: what is not on the disk stays in memory
    least = _mapped_bytes()
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as pages:
        with kept_small(str(tmp_path), 16 * MEGABYTE):
            if is_removed:
                path.unlink()
            assert pages[:: mmap.PAGESIZE] == b"x" * (64 * MEGABYTE // mmap.PAGESIZE)
            deadline = time.monotonic() + 10
            while _mapped_bytes() > least + 20 * MEGABYTE and time.monotonic() < deadline:
                time.sleep(0.01)
            assert _mapped_bytes() < least + 20 * MEGABYTE
        assert pages[-1] == ord("x")


def test_little_is_not_looked_at(tmp_path: Path) -> None:
    (tmp_path / "segment").write_bytes(b"x" * MEGABYTE)
    threads = threading.active_count()
    with kept_small(str(tmp_path)):
        assert threading.active_count() == threads

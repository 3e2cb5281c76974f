"""The current generation is the newest one with a valid SYNCED file."""

from pathlib import Path

import pytest

from ccgrep.fulltext.generations import VERSION, Generation, current, encode_synced

ID = "0123456789abcdef" * 4
FINISHED = Generation("", ID, "whole", 1)


def write(store: Path, number: int, synced: bytes) -> str:
    path = store / "text" / f"{VERSION}-{number:06d}"
    path.mkdir(parents=True)
    (path / "SYNCED").write_bytes(synced)
    return str(path)


@pytest.mark.parametrize("level", ["whole", "discussion"])
def test_synced_file_is_read_as_written(tmp_path: Path, level: str) -> None:
    written = Generation("", ID, level, 1_790_000_000_000)  # type: ignore[arg-type]
    path = write(tmp_path, 1, encode_synced(written))
    assert current(str(tmp_path)) == written._replace(path=path)


def test_generation_with_damaged_synced_file_is_ignored(tmp_path: Path) -> None:
    valid = encode_synced(FINISHED)
    path = write(tmp_path, 1, valid)
    for at in range(len(valid)):
        flipped = valid[:at] + bytes([valid[at] ^ 1]) + valid[at + 1 :]
        write(tmp_path, 2 * at + 2, valid[:at])
        write(tmp_path, 2 * at + 3, flipped)
    assert current(str(tmp_path)) == FINISHED._replace(path=path)


def test_unfinished_generation_is_ignored(tmp_path: Path) -> None:
    path = write(tmp_path, 1, encode_synced(FINISHED))
    (tmp_path / "text" / f"{VERSION}-000002").mkdir()
    assert current(str(tmp_path)) == FINISHED._replace(path=path)

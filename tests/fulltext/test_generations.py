"""Which generation of the text index is the current one: the newest that says what it reflects."""

from pathlib import Path

import pytest

from ccgrep.fulltext.generations import VERSION, Generation, current, synced_text

ID = "0123456789abcdef" * 4


def write(store: Path, number: int, synced: str) -> str:
    path = store / "text" / f"{VERSION}-{number:06d}"
    path.mkdir(parents=True)
    (path / "SYNCED").write_text(synced)
    return str(path)


@pytest.mark.parametrize("level", ["whole", "discussion"])
def test_what_was_written_is_read(tmp_path: Path, level: str) -> None:
    wanted = Generation("", ID, level, 1_790_000_000_000)  # type: ignore[arg-type]
    path = write(tmp_path, 1, synced_text(wanted))
    assert current(str(tmp_path)) == wanted._replace(path=path)


@pytest.mark.parametrize("at", range(80))
def test_one_that_is_damaged_is_passed_over(tmp_path: Path, at: int) -> None:
    wanted = Generation("", ID, "whole", 1)
    right = synced_text(wanted)
    path = write(tmp_path, 1, right)
    at %= len(right)
    damaged = [right[:at], f"{right[:at]}{chr(ord(right[at]) ^ 1)}{right[at + 1 :]}"]
    for number, text in enumerate(damaged, 2):
        write(tmp_path, number, text)
    assert current(str(tmp_path)) == wanted._replace(path=path)


def test_one_that_is_not_finished_is_passed_over(tmp_path: Path) -> None:
    wanted = Generation("", ID, "whole", 1)
    path = write(tmp_path, 1, synced_text(wanted))
    (tmp_path / "text" / f"{VERSION}-000002").mkdir()
    assert current(str(tmp_path)) == wanted._replace(path=path)

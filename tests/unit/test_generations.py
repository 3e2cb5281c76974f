"""Which generation of the text index is the current one: the newest that says what it reflects."""

from pathlib import Path

import pytest

from ccgrep.index.generations import Generation, current, synced_text

ID = "0123456789abcdef" * 4


def write(store: Path, number: int, synced: str) -> str:
    path = store / "text" / f"v2-{number:06d}"
    path.mkdir(parents=True)
    (path / "SYNCED").write_text(synced)
    return str(path)


@pytest.mark.parametrize("level", ["whole", "discussion"])
def test_what_was_written_is_read(tmp_path: Path, level: str) -> None:
    synced = f"{ID} {level} 1790000000000\n"
    path = write(tmp_path, 1, synced)
    found = current(str(tmp_path))
    assert found == Generation(path, ID, level, 1_790_000_000_000)  # type: ignore[arg-type]
    assert synced_text(found) == synced


@pytest.mark.parametrize(
    "damaged",
    [
        "",
        "\n",
        f"{ID} whole 1",
        f"{ID} whole \n",
        f"{ID} whole 1 2\n",
        f"{ID} whole -1\n",
        f"{ID} whole ²\n",
        f"{ID} half 1\n",
        f"{ID}  whole 1\n",
        f"{ID[1:]} whole 1\n",
        f"{ID[1:]}g whole 1\n",
        f"0x{ID[2:]} whole 1\n",
        f"{ID[:30]}-_{ID[32:]} whole 1\n",
        f"{ID.upper()} whole 1\n",
    ],
)
def test_one_that_is_damaged_is_passed_over(tmp_path: Path, damaged: str) -> None:
    path = write(tmp_path, 1, f"{ID} whole 1\n")
    write(tmp_path, 2, damaged)
    assert current(str(tmp_path)) == Generation(path, ID, "whole", 1)

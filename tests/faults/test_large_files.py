"""Lines, transcripts and decompression bombs of any size are read in bounded memory."""

import random
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ccgrep.sources.zst import ZstStream
from tests.helpers import scale
from tests.helpers.homes import Home, assert_same_as_fresh
from tests.helpers.peaks import run_measured
from tests.helpers.transcripts import CodexFile

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

MOST_MB = 400
BOMB_MOST_MB = 300
MEGABYTE = 1024 * 1024
OUTPUT_CHARS = 25_000


def append_long_line(path: Path, megabytes: int) -> None:
    with path.open("ab") as file:
        file.write(b'{"type":"user","x":"')
        for _ in range(megabytes):
            file.write(b"y" * MEGABYTE)
        file.write(b'"}\n')


def test_line_of_a_gigabyte_is_one_damaged_spot(home: Home, figure: Callable[[str], None]) -> None:
    size = scale.of(100, 1024)
    file = home.claude()
    for number in range(50):
        file.turn(f"prompt before{number}", "answer")
    file.write()
    append_long_line(file.path, size)
    for number in range(50):
        file.turn(f"prompt after{number}", "answer")
    file.append()
    peak = run_measured(home, "index")
    done = peak.done
    assert (done.returncode, done.stderr.count("skipped 1 damaged spot")) == (0, 1), done.stderr
    (spot,) = home.manifest(file.id).bad
    assert (spot.reason, spot.length) == ("line longer than 64 MiB", size * MEGABYTE + 23)
    found = home.run("prompt", "-n0").stdout.splitlines()
    assert len(found) == 100
    assert peak.anonymous_mb < MOST_MB
    figure(f"long line: {size} MB, peak {peak} (< {MOST_MB}), {len(found)} of 100 turns found")


def test_many_long_lines_need_no_more_memory_than_one(home: Home) -> None:
    for seed in range(scale.of(2, 8)):
        file = home.claude(seed + 1)
        file.turn("prompt", "x" * (15 * MEGABYTE))
        file.prompt([{"type": "image", "source": {"type": "base64", "data": "A" * MEGABYTE * 15}}])
        file.answer("answer")
        file.write()
    peak = run_measured(home, "index")
    assert peak.done.returncode == 0
    assert peak.anonymous_mb < MOST_MB
    assert len(home.rows()) == scale.of(2, 8)


def test_memory_does_not_grow_with_the_transcripts(
    home: Home, figure: Callable[[str], None]
) -> None:
    """Each round writes, ingests and deletes half a gigabyte."""
    rounds, megabytes = scale.of(2, 20), scale.of(5, 500)
    chance = random.Random(1)
    words = [chance.randbytes(chance.randint(2, 5)).hex() for _ in range(20_000)]
    printed = " ".join(chance.choices(words, k=500_000))
    peaks = []
    for number in range(rounds):
        paths = []
        for seed in range(5):
            file = home.claude(number * 5 + seed + 1)
            for turn in range(megabytes * MEGABYTE // 5 // OUTPUT_CHARS):
                at = chance.randrange(len(printed) - OUTPUT_CHARS)
                file.turn(f"prompt {turn}", "answer", "make", printed[at : at + OUTPUT_CHARS])
            paths.append(file.write())
        peak = run_measured(home, "index", "-q")
        assert (peak.done.returncode, peak.done.stderr) == (0, "")
        peaks.append(peak)
        for path in paths:
            path.unlink()
    highest = max(peaks, key=lambda peak: peak.anonymous_mb)
    assert highest.anonymous_mb < MOST_MB
    assert len(home.rows()) == 5 * rounds
    figure(
        f"transcripts: {rounds * megabytes} MB in {rounds} rounds, peak "
        f"{peaks[0]} in the first, {highest} at most (< {MOST_MB})"
    )


def make_bomb(unit: bytes, megabytes: int) -> bytes:
    """Compress a kilobyte of noise and a megabyte of `unit`, again and again, in one frame."""
    chance = random.Random(2)
    compressor = zstd.ZstdCompressor()
    fill = unit * (MEGABYTE // len(unit))
    return (
        b"".join(
            compressor.compress(chance.randbytes(1000).hex().encode() + b"\n" + fill)
            for _ in range(megabytes)
        )
        + compressor.flush()
    )


EVENT = b'{"timestamp":"2026-09-21T10:00:00Z","type":"event_msg","payload":{"type":"user_message",'
BOMBS = {
    "NUL bytes": b"\0",
    "blank lines": b"\n",
    "records": EVENT + b'"message":"again"}}\n',
}


class Decompressor:
    """A decompressor that counts its instances and what they decompress."""

    instances = 0
    decompressed = 0
    _real = zstd.ZstdDecompressor

    def __init__(self, **options: Any) -> None:
        type(self).instances += 1
        self._decompressor = self._real(**options)

    def decompress(self, data: bytes, max_length: int) -> bytes:
        block = self._decompressor.decompress(data, max_length)
        type(self).decompressed += len(block)
        return block

    def __getattr__(self, name: str) -> Any:
        return getattr(self._decompressor, name)


@pytest.fixture
def decompressor(monkeypatch: pytest.MonkeyPatch) -> type[Decompressor]:
    class Counted(Decompressor):
        pass

    monkeypatch.setattr(zstd, "ZstdDecompressor", Counted)
    return Counted


def place_rollout(home: Home, data: bytes) -> Path:
    path = CodexFile(home.codex_sessions, 1).path.with_suffix(".jsonl.zst")
    path.parent.mkdir(parents=True)
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("name", list(BOMBS)[: scale.of(1, len(BOMBS))])
def test_decompression_bomb_is_not_read(
    home: Home, name: str, decompressor: type[Decompressor], figure: Callable[[str], None]
) -> None:
    """A file that decompresses to a thousand times its size."""
    gigabytes = scale.of(1, 10)
    path = place_rollout(home, make_bomb(BOMBS[name], gigabytes * 1000))
    size = path.stat().st_size
    with path.open("rb") as file:
        stream = ZstStream(file, size)
        assert (stream.read(MEGABYTE), stream.problem) == (
            b"",
            "decompresses to more than the limit",
        )
    most = 64 * MEGABYTE + 100 * size + MEGABYTE
    assert decompressor.decompressed <= most
    peak = run_measured(home, "index")
    assert peak.done.returncode == 0, peak.done.stderr
    assert "skipped 1 damaged spot" in peak.done.stderr
    assert peak.anonymous_mb < BOMB_MOST_MB
    figure(
        f"bomb of {name}: {size / MEGABYTE:.1f} MB to {gigabytes} GB, stopped after "
        f"{decompressor.decompressed / MEGABYTE:.0f} MB, peak {peak} (< {BOMB_MOST_MB})"
    )


def test_rollout_of_very_many_frames_is_not_read(
    home: Home, decompressor: type[Decompressor]
) -> None:
    path = place_rollout(home, zstd.compress(b"") * 200_000)
    with path.open("rb") as file:
        assert ZstStream(file, path.stat().st_size).read(MEGABYTE) == b""
    assert decompressor.instances <= 3000
    assert "skipped 1 damaged spot" in home.run("index").stderr


def texts(report: dict[str, Any]) -> int:
    """Return how many texts an index run embedded."""
    return int(report["embedded"]["texts"])


def test_compressed_and_decompressed_rollouts_are_the_same_sessions(
    home: Home, figure: Callable[[str], None]
) -> None:
    number = scale.of(8, 200)
    home.embed = "auto"
    files = []
    for seed in range(number):
        file = home.codex(seed + 1)
        file.meta()
        file.turn(f"prompt {seed} about the parser", f"answer {seed}")
        file.write()
        files.append(file)
    first = home.json("index")
    embedded_again = 0
    for is_compressed in (True, False):
        for file in files:
            packed = file.path.with_name(file.path.name + ".zst")
            if is_compressed:
                packed.write_bytes(zstd.compress(file.path.read_bytes()))
                file.path.unlink()
            else:
                file.write()
                packed.unlink()
        again = home.json("index")
        assert (again["new_objects"], again["new_sessions"]) == (0, 0)
        embedded_again += texts(again)
        assert len(home.rows()) == number
        assert len(home.run("prompt", "-n0", "--no-refresh").stdout.splitlines()) == number
    assert texts(first) >= number
    assert embedded_again == 0
    assert_same_as_fresh(home)
    figure(
        f"compression: {number} rollouts to .zst and back, {embedded_again} of {texts(first)} "
        "texts embedded again, = fresh"
    )

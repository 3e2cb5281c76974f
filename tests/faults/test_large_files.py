"""Lines, files and bombs of any size: memory is bounded, and what is ordinary is found."""

import random
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

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
BOMB_MOST_S = 2.0
MEGABYTE = 1024 * 1024
OUTPUT_CHARS = 25_000


def append_long_line(path: Path, megabytes: int) -> None:
    with path.open("ab") as file:
        file.write(b'{"type":"user","x":"')
        for _ in range(megabytes):
            file.write(b"y" * MEGABYTE)
        file.write(b'"}\n')


def test_a_line_of_a_gigabyte_is_one_notice(home: Home, figure: Callable[[str], None]) -> None:
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
    figure(f"long line: {size} MB, peak {peak} (< {MOST_MB}), 100/100 turns, 1 notice")


def test_many_long_lines_take_no_more_memory_than_one(home: Home) -> None:
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
    """Half a gigabyte after the other is written, taken in and deleted."""
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


def bomb(unit: bytes, megabytes: int, repeats: int) -> bytes:
    """A file of one frame: a kilobyte of noise, then `megabytes` of `unit`, again and again."""
    chance = random.Random(2)
    compressor = zstd.ZstdCompressor()
    fill = unit * (megabytes * MEGABYTE // len(unit))
    return (
        b"".join(
            compressor.compress(chance.randbytes(1000).hex().encode() + b"\n" + fill)
            for _ in range(repeats)
        )
        + compressor.flush()
    )


EVENT = b'{"timestamp":"2026-09-21T10:00:00Z","type":"event_msg","payload":{"type":"user_message",'
BOMBS = {
    "NUL bytes": b"\0",
    "blank lines": b"\n",
    "records": EVENT + b'"message":"again"}}\n',
}


@pytest.mark.parametrize("name", list(BOMBS)[: scale.of(1, len(BOMBS))])
def test_a_bomb_is_not_unfolded(home: Home, name: str, figure: Callable[[str], None]) -> None:
    """A file that unfolds to a thousand times its size."""
    gigabytes = scale.of(1, 10)
    rollout = CodexFile(home.codex_sessions, 1)
    path = rollout.path.with_suffix(".jsonl.zst")
    path.parent.mkdir(parents=True)
    path.write_bytes(bomb(BOMBS[name], 1, gigabytes * 1000))
    empty = Home(home.directory / "empty")
    empty.claude().write()
    home.claude().write()
    base = run_measured(empty, "index").seconds
    peak = run_measured(home, "index")
    took = peak.seconds - base
    assert peak.done.returncode == 0, peak.done.stderr
    assert "skipped 1 damaged spot" in peak.done.stderr
    assert peak.anonymous_mb < BOMB_MOST_MB
    assert took < BOMB_MOST_S
    figure(
        f"bomb of {name}: {path.stat().st_size / MEGABYTE:.1f} MB to {gigabytes} GB, "
        f"stopped after {took:.1f} s (< {BOMB_MOST_S:.0f}), peak {peak} (< {BOMB_MOST_MB})"
    )


def test_very_many_frames_are_not_unfolded(home: Home) -> None:
    rollout = CodexFile(home.codex_sessions, 1)
    path = rollout.path.with_suffix(".jsonl.zst")
    path.parent.mkdir(parents=True)
    path.write_bytes(zstd.compress(b"") * 200_000)
    begun = time.process_time()
    home.index()
    assert time.process_time() - begun < BOMB_MOST_S


def texts(report: dict[str, Any]) -> int:
    """How many texts an index run embedded."""
    return int(report["embedded"]["texts"])


def test_rollouts_that_are_compressed_and_unfolded_are_the_same_sessions(
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
        assert (again["new_objects"], again["new_sessions"], texts(again)) == (0, 0, 0)
        assert len(home.rows()) == number
        assert len(home.run("prompt", "-n0", "--no-refresh").stdout.splitlines()) == number
    assert texts(first) >= number
    assert_same_as_fresh(home)
    figure(
        f"compression: {number} rollouts to .zst and back, 0 of {texts(first)} texts embedded "
        "again, 0 duplicates, = fresh"
    )

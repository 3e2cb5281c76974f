"""Reads sessions of any agent in memory: whole, as they grow, and damaged."""

import io
import random

from ccgrep.sources.jsonl import Mark
from ccgrep.sources.readers import load_reader
from ccgrep.sources.reading import Checkpoint, Input, Reading
from ccgrep.sources.scan import FoundFile
from tests.helpers import scale
from tests.helpers.readers import turn_id, without_progress

_ODD_VALUES = (b"null", b"[]", b"{}", b"-1", b'"x"', b"1e999", b"[[{}]]", b'{"a":{}}', b"true")
_START = Mark(0, 0)


def read(
    source: str, path: str, data: bytes, start: Mark = _START, before: Checkpoint | None = None
) -> Reading:
    """Read `data` as the session at `path`."""
    stream = io.BytesIO(data)
    stream.seek(start.offset)
    reader = load_reader(source)
    input = Input(stream, start, reader.identify(path), turn_id, before or Checkpoint())
    return reader.read(input, FoundFile(path, source, "session", "/", len(data), 0, 0))


def read_in_pieces(source: str, path: str, data: bytes, cuts: list[int]) -> Reading:
    """Read a session as it grows, each time from where the first open turn began."""
    start, before = _START, Checkpoint()
    for cut in sorted(cuts):
        reading = read(source, path, data[:cut], start, before)
        own = reading.sessions[0]
        start = Mark(reading.resume, reading.resume_crc)
        entries = tuple(entry for entry in own.entries if entry.start < start.offset)
        bad = tuple(spot for spot in own.bad if spot.offset < start.offset)
        before = Checkpoint(entries, bad, reading.state) if start.offset else Checkpoint()
    return read(source, path, data, start, before)


def assert_grows_as_fresh(source: str, path: str, data: bytes) -> None:
    """Check that reading a growing file yields the same as reading it at the end."""
    fresh = without_progress(read(source, path, data))
    dice = random.Random(len(data))
    for _ in range(scale.of(40, 400)):
        cuts = [dice.randrange(len(data) + 1) for _ in range(dice.randrange(1, 5))]
        assert without_progress(read_in_pieces(source, path, data, cuts)) == fresh, cuts


def assert_survives_damage(source: str, path: str, data: bytes) -> None:
    """Check that no damage makes the reader fail: cuts, flipped bits, odd values, random bytes."""
    dice = random.Random(len(data))
    for _ in range(scale.of(150, 3000)):
        damaged = bytearray(data)
        match dice.randrange(4):
            case 0:
                del damaged[dice.randrange(len(damaged)) :]
            case 1:
                for _ in range(dice.randrange(1, 20)):
                    damaged[dice.randrange(len(damaged))] ^= 1 << dice.randrange(8)
            case 2:
                damaged = bytearray(_replace_value(data, dice))
            case 3:
                begin = dice.randrange(len(damaged))
                damaged[begin : begin + dice.randrange(200)] = dice.randbytes(dice.randrange(200))
        assert read(source, path, bytes(damaged)).sessions is not None


def _replace_value(data: bytes, dice: random.Random) -> bytes:
    """Put a value of another type where a JSON value is."""
    colons = [at for at in range(len(data)) if data[at : at + 2] in (b'":', b'" ')]
    at = data.index(b":", dice.choice(colons)) + 1 if colons else 0
    end = at
    while end < len(data) and data[end] not in b",}]\n":
        end += 1
    values = (
        b"null",
        b"[]",
        b"{}",
        b"-1",
        b'"x"',
        b"1e999",
        b"[[{}]]",
        b'{"type":"text"}',
        b"true",
    )
    return data[:at] + dice.choice(values) + data[end:]

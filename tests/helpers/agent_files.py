"""Reads sessions of any agent in memory: whole, as they grow, and damaged."""

import random
from pathlib import Path

from ccgrep.sources.reading import Reading
from tests.helpers import scale
from tests.helpers.source_reading import read_bytes, read_in_pieces

_ROOT = Path("/")
_ODD_VALUES = (
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


def read(source: str, path: str, data: bytes) -> Reading:
    """Read `data` as the session at `path`."""
    return read_bytes(source, data, Path(path), _ROOT)


def assert_grows_as_fresh(source: str, path: str, data: bytes) -> None:
    """Check that reading a growing file yields the same as reading it at the end."""
    fresh = read_in_pieces(source, data, Path(path), _ROOT, [])
    dice = random.Random(len(data))
    for _ in range(scale.of(40, 400)):
        cuts = [dice.randrange(len(data) + 1) for _ in range(dice.randrange(1, 5))]
        assert read_in_pieces(source, data, Path(path), _ROOT, cuts) == fresh, cuts


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
    return data[:at] + dice.choice(_ODD_VALUES) + data[end:]

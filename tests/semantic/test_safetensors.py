"""A damaged weights file is an error, never a crash or a wrong vector."""

import contextlib
import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ccgrep.errors import DamagedModelError, ModelError
from ccgrep.semantic.safetensors import Tensors

ENTRY: dict[str, Any] = {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}
DATA = struct.pack("<6f", *range(6))


def write(path: Path, header: Any, data: bytes = DATA, size: int | None = None) -> str:
    raw = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(raw) if size is None else size) + raw + data)
    return str(path)


def test_tensor_is_read(tmp_path: Path) -> None:
    found = Tensors(write(tmp_path / "w", {"__metadata__": {}, "a": ENTRY})).get("a", 2, -1)
    assert found.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert not found.flags.writeable


def test_real_weights_are_read_without_a_copy() -> None:
    from tests.helpers.models import MODEL  # noqa: PLC0415 - skips without the extra

    found = Tensors(MODEL.weights[0]).get("embeddings.word_embeddings.weight", -1, 384)
    assert found.shape == (30522, 384)
    assert not found.flags.owndata


WRONG: dict[str, Any] = {
    "another type": {**ENTRY, "dtype": "F16"},
    "no type": {"shape": [2, 3], "data_offsets": [0, 24]},
    "a type that is a list": {**ENTRY, "dtype": ["F32"]},
    "beyond the end": {**ENTRY, "data_offsets": [4, 28]},
    "far beyond the end": {**ENTRY, "data_offsets": [2**39, 2**39 + 24]},
    "backwards": {**ENTRY, "data_offsets": [24, 0]},
    "negative": {**ENTRY, "data_offsets": [-24, 0]},
    "huge": {**ENTRY, "data_offsets": [0, 2**80]},
    "not whole": {**ENTRY, "data_offsets": [0.0, 24.0]},
    "one offset": {**ENTRY, "data_offsets": [0]},
    "no offsets": {"dtype": "F32", "shape": [2, 3]},
    "shorter than its shape": {**ENTRY, "data_offsets": [0, 20]},
    "another shape": {**ENTRY, "shape": [3, 2]},
    "more axes": {**ENTRY, "shape": [1, 2, 3]},
    "a negative shape": {**ENTRY, "shape": [-2, -3]},
    "a shape of truths": {**ENTRY, "shape": [True, 6]},
    "no shape": {"dtype": "F32", "data_offsets": [0, 24]},
    "no table": [0, 24],
}


@pytest.mark.parametrize("entry", WRONG.values(), ids=WRONG.keys())
def test_wrong_entry_is_an_error(tmp_path: Path, entry: Any) -> None:
    tensors = Tensors(write(tmp_path / "w", {"a": entry}))
    with pytest.raises(DamagedModelError, match=r"is damaged \(a |is damaged \(it has no"):
        tensors.get("a", 2, 3)


HEADERS: dict[str, Callable[[Path], str]] = {
    "empty": lambda path: write_bytes(path, b""),
    "shorter than a length": lambda path: write_bytes(path, b"\x02\0\0"),
    "only a length": lambda path: write_bytes(path, struct.pack("<Q", 2)),
    "a length beyond the end": lambda path: write(path, {"a": ENTRY}, size=10_000),
    "the largest length": lambda path: write(path, {"a": ENTRY}, size=2**64 - 1),
    "no length": lambda path: write(path, {"a": ENTRY}, size=0),
    "not JSON": lambda path: write(path, b"{nonsense}"),
    "not UTF-8": lambda path: write(path, b'{"\xff": 1}'),
    "too deep": lambda path: write(path, b"[" * 200_000),
    "a list": lambda path: write(path, []),
}


def write_bytes(path: Path, data: bytes) -> str:
    path.write_bytes(data)
    return str(path)


@pytest.mark.parametrize("damage", HEADERS.values(), ids=HEADERS.keys())
def test_damaged_header_is_an_error(tmp_path: Path, damage: Callable[[Path], str]) -> None:
    with pytest.raises(DamagedModelError, match="is damaged"):
        Tensors(damage(tmp_path / "w"))


def test_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="cannot read"):
        Tensors(str(tmp_path / "none"))


@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_no_header_byte_crashes(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    path = tmp_path_factory.mktemp("w") / "w"
    raw = bytearray(Path(write(path, {"a": ENTRY})).read_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        raw[data.draw(st.integers(0, len(raw) - 25))] = data.draw(st.integers(0, 255))
    path.write_bytes(bytes(raw[: data.draw(st.integers(0, len(raw)))]))
    with contextlib.suppress(DamagedModelError):
        assert Tensors(str(path)).get("a", 2, 3).shape == (2, 3)

"""Read the tensors of a safetensors file, which is mapped into memory.

    0    8  length of the header, little-endian
    8    n  the header: JSON, {name: {"dtype": "F32", "shape": […], "data_offsets": [from, to]}}
    8+n     the tensors, with offsets counted from here

Every number is checked against the file before it is used. Nothing is copied: a query loads only
the pages with its rows of the vocabulary.
"""

import json
import math
import mmap
import os
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ccgrep.errors import DamagedModelError
from ccgrep.semantic.model_settings import REINSTALL, unreadable
from ccgrep.text import one_line

_MAX_HEADER_BYTES = 16 * 1024 * 1024
_TYPES = {"F32": "<f4", "I32": "<i4", "U8": "<u1"}


class Tensors:
    """The tensors of a file, by name."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._map = _map_file(path)
        size = int.from_bytes(self._map[:8], "little")
        if len(self._map) < 8 or not 2 <= size <= min(len(self._map) - 8, _MAX_HEADER_BYTES):
            raise self.damage_error("the length of its header is wrong")
        self._data_start = 8 + size
        try:
            header = json.loads(self._map[8 : self._data_start])
        except (ValueError, RecursionError) as error:
            raise self.damage_error("its header is not JSON") from error
        if not isinstance(header, dict):
            raise self.damage_error("its header is not a JSON object")
        self._header: Mapping[str, Any] = header

    def __contains__(self, name: str) -> bool:
        return name in self._header

    def get(self, name: str, *shape: int, kind: str = "F32") -> NDArray[Any]:
        """Return a tensor, which must have this shape and type. -1 matches any length."""
        entry = self._header.get(name)
        if not isinstance(entry, dict):
            raise self.damage_error(f"it has no tensor {name}")
        if entry.get("dtype") != kind:
            raise self.damage_error(f"{name} is not {kind}")
        actual, start, end = _numbers(entry.get("shape")), *_offsets(entry.get("data_offsets"))
        if actual is None or len(actual) != len(shape):
            raise self.damage_error(f"{name} has another shape")
        if any(length not in (-1, found) for length, found in zip(shape, actual, strict=True)):
            raise self.damage_error(f"{name} has another shape")
        if not 0 <= start <= end <= len(self._map) - self._data_start:
            raise self.damage_error(f"{name} is outside of the file")
        number = np.dtype(_TYPES[kind])
        if end - start != math.prod(actual) * number.itemsize:
            raise self.damage_error(f"{name} has a length that does not fit its shape")
        flat = np.frombuffer(self._map, number, math.prod(actual), self._data_start + start)
        return flat.reshape(actual)

    def damage_error(self, reason: str) -> DamagedModelError:
        return DamagedModelError(
            f"{one_line(self._path)} is damaged ({one_line(reason)}): {REINSTALL}"
        )


def encode_tensors(tensors: Mapping[str, NDArray[Any]]) -> bytes:
    """Return the content of a file with these tensors."""
    kinds = {np.dtype(number): kind for kind, number in _TYPES.items()}
    header, at = {}, 0
    for name, tensor in tensors.items():
        end = at + tensor.nbytes
        header[name] = {
            "dtype": kinds[tensor.dtype],
            "shape": list(tensor.shape),
            "data_offsets": [at, end],
        }
        at = end
    encoded = json.dumps(header).encode()
    encoded += b" " * (-len(encoded) % 8)
    parts = (np.ascontiguousarray(tensor).data for tensor in tensors.values())
    return b"".join((len(encoded).to_bytes(8, "little"), encoded, *parts))


def _map_file(path: str) -> mmap.mmap | bytes:
    try:
        with open(path, "rb") as file:
            if os.fstat(file.fileno()).st_size == 0:
                return b""  # An empty file cannot be mapped.
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except OSError as error:
        raise unreadable(path, error) from error


def _numbers(value: object) -> list[int] | None:
    if not isinstance(value, list):
        return None
    return value if all(type(item) is int and 0 <= item < 2**40 for item in value) else None


def _offsets(value: object) -> tuple[int, int]:
    """Return a pair of offsets, or an impossible one if `value` is not a pair."""
    numbers = _numbers(value)
    return (numbers[0], numbers[1]) if numbers and len(numbers) == 2 else (1, 0)

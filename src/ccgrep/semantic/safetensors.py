"""Which tensors does a safetensors file hold? Read by mapping it into memory.

    0    8  length of the header, little-endian
    8    n  the header: JSON, {name: {"dtype": "F32", "shape": […], "data_offsets": [from, to]}}
    8+n     the tensors, offsets counted from here

Every number is checked against the file before anything is read by it. Nothing is copied: pages
come in when they are used, so that a query touches only its own rows of the vocabulary.
"""

import json
import math
import mmap
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ccgrep.errors import DamagedModelError, ModelError
from ccgrep.text import one_line

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_MAX_HEADER_BYTES = 16 * 1024 * 1024
_F32_BYTES = 4


class Tensors:
    """The float32 tensors of a file, by name. numpy is imported when one is made."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._map = _mapped(path)
        size = int.from_bytes(self._map[:8], "little")
        if len(self._map) < 8 or not 2 <= size <= min(len(self._map) - 8, _MAX_HEADER_BYTES):
            raise self.damaged("its header has no length that fits")
        self._data_from = 8 + size
        try:
            header = json.loads(self._map[8 : self._data_from])
        except (ValueError, RecursionError) as error:
            raise self.damaged("its header is not JSON") from error
        if not isinstance(header, dict):
            raise self.damaged("its header is not a table")
        self._header: Mapping[str, Any] = header

    def __contains__(self, name: str) -> bool:
        return name in self._header

    def get(self, name: str, *shape: int) -> "NDArray[np.float32]":
        """The tensor `name`, which must have this shape; -1 stands for any length."""
        import numpy as np  # noqa: PLC0415 - heavy

        entry = self._header.get(name)
        if not isinstance(entry, dict):
            raise self.damaged(f"it has no tensor {name}")
        if entry.get("dtype") != "F32":
            raise self.damaged(f"{name} is not of float32")
        found, start, end = _numbers(entry.get("shape")), *_pair(entry.get("data_offsets"))
        if found is None or len(found) != len(shape):
            raise self.damaged(f"{name} has another shape")
        if any(wanted not in (-1, length) for wanted, length in zip(shape, found, strict=True)):
            raise self.damaged(f"{name} has another shape")
        if not 0 <= start <= end <= len(self._map) - self._data_from:
            raise self.damaged(f"{name} lies outside of the file")
        if end - start != math.prod(found) * _F32_BYTES:
            raise self.damaged(f"{name} has another length than its shape")
        flat = np.frombuffer(self._map, "<f4", math.prod(found), self._data_from + start)
        return flat.reshape(found)

    def damaged(self, why: str) -> DamagedModelError:
        return DamagedModelError(
            f"{one_line(self._path)} is damaged ({one_line(why)}): "
            "install the model again, or give another one"
        )


def _mapped(path: str) -> mmap.mmap | bytes:
    """The file in memory; an empty one cannot be mapped."""
    try:
        with open(path, "rb") as file:
            if os.fstat(file.fileno()).st_size == 0:
                return b""
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except OSError as error:
        raise ModelError(f"{one_line(path)} cannot be read ({error.strerror})") from error


def _numbers(value: object) -> list[int] | None:
    if not isinstance(value, list):
        return None
    return value if all(type(one) is int and 0 <= one < 2**40 for one in value) else None


def _pair(value: object) -> tuple[int, int]:
    """Two offsets; what is none lies outside of any file."""
    numbers = _numbers(value)
    return (numbers[0], numbers[1]) if numbers and len(numbers) == 2 else (1, 0)

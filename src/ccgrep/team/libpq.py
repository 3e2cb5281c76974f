"""The few functions of libpq that a query needs, called with ctypes.

Importing psycopg takes 90 ms, four times as long as a search in the store. So ccgrep uses only the
libpq that its wheel contains, or else that of the system.
"""

from __future__ import annotations

import ctypes
import glob
import os
import sys
from functools import cache
from typing import Any

BAD, OK = 1, 0
"""States of a connection."""
FAILED, READING, WRITING, READY = 0, 1, 2, 3
"""What a connection that is being made waits for."""
_EMPTY, _COMMAND_OK, _TUPLES_OK = 0, 1, 2
_SQLSTATE, _MESSAGE = ord("C"), ord("M")
_PATTERNS = ("psycopg_binary.libs/*libpq[-.]*", "psycopg_binary/.dylibs/libpq[-.]*")
_POINTER, _TEXT, _INT = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int
_TEXTS = ctypes.POINTER(ctypes.c_char_p)
_SIGNATURES: dict[str, tuple[Any, list[Any]]] = {
    "PQconnectStart": (_POINTER, [_TEXT]),
    "PQconnectPoll": (_INT, [_POINTER]),
    "PQstatus": (_INT, [_POINTER]),
    "PQsocket": (_INT, [_POINTER]),
    "PQerrorMessage": (_TEXT, [_POINTER]),
    "PQsetnonblocking": (_INT, [_POINTER, _INT]),
    "PQfinish": (None, [_POINTER]),
    "PQsendQuery": (_INT, [_POINTER, _TEXT]),
    "PQsendQueryParams": (
        _INT,
        [_POINTER, _TEXT, _INT, _POINTER, _TEXTS, _POINTER, _POINTER, _INT],
    ),
    "PQflush": (_INT, [_POINTER]),
    "PQisBusy": (_INT, [_POINTER]),
    "PQconsumeInput": (_INT, [_POINTER]),
    "PQgetResult": (_POINTER, [_POINTER]),
    "PQresultStatus": (_INT, [_POINTER]),
    "PQresultErrorField": (_TEXT, [_POINTER, _INT]),
    "PQresultErrorMessage": (_TEXT, [_POINTER]),
    "PQntuples": (_INT, [_POINTER]),
    "PQnfields": (_INT, [_POINTER]),
    "PQgetvalue": (_POINTER, [_POINTER, _INT, _INT]),
    "PQgetlength": (_INT, [_POINTER, _INT, _INT]),
    "PQclear": (None, [_POINTER]),
}


class MissingLibraryError(Exception):
    """There is no libpq."""


class BrokenConnectionError(Exception):
    """The connection broke. The text is libpq's message."""


class Result:
    """A result, copied from libpq."""

    def __init__(self, library: Any, pointer: int) -> None:
        self.is_error = library.PQresultStatus(pointer) not in (_EMPTY, _COMMAND_OK, _TUPLES_OK)
        self.code = (library.PQresultErrorField(pointer, _SQLSTATE) or b"").decode()
        message = library.PQresultErrorField(pointer, _MESSAGE)
        self.message = (message or library.PQresultErrorMessage(pointer) or b"").decode()
        columns = range(library.PQnfields(pointer))
        self.rows: list[list[bytes]] = [
            [_value(library, pointer, row, column) for column in columns]
            for row in range(library.PQntuples(pointer))
        ]
        library.PQclear(pointer)


def _value(library: Any, pointer: int, row: int, column: int) -> bytes:
    address = library.PQgetvalue(pointer, row, column)
    return ctypes.string_at(address, library.PQgetlength(pointer, row, column))


class Connection:
    """A connection that never waits: the caller waits for its socket."""

    def __init__(self, address: str) -> None:
        self._library = _load()
        self._pointer = self._library.PQconnectStart(address.encode())
        if not self._pointer:
            raise BrokenConnectionError("out of memory")

    @property
    def is_bad(self) -> bool:
        return bool(self._library.PQstatus(self._pointer) == BAD)

    @property
    def socket(self) -> int:
        return int(self._library.PQsocket(self._pointer))

    @property
    def message(self) -> str:
        return (self._library.PQerrorMessage(self._pointer) or b"").decode("utf-8", "replace")

    def connect(self) -> int:
        """Continue to connect, and return what to wait for."""
        state = int(self._library.PQconnectPoll(self._pointer))
        if state == READY:
            self._library.PQsetnonblocking(self._pointer, 1)
        return state

    def send(self, sql: str, values: list[bytes] | None) -> None:
        """Send a statement with parameters in text format, or several without `values`."""
        if values is None:
            self._check(self._library.PQsendQuery(self._pointer, sql.encode()))
            return
        texts = (ctypes.c_char_p * len(values))(*values)
        self._check(
            self._library.PQsendQueryParams(
                self._pointer, sql.encode(), len(values), None, texts, None, None, 0
            )
        )

    def flush(self) -> bool:
        """Send what can be sent, and return whether that is all."""
        state = self._library.PQflush(self._pointer)
        self._check(state >= 0)
        return bool(state == 0)

    def receive(self) -> None:
        self._check(self._library.PQconsumeInput(self._pointer))

    @property
    def is_busy(self) -> bool:
        """Whether the next result is not there yet."""
        return bool(self._library.PQisBusy(self._pointer))

    def result(self) -> Result | None:
        """Return the next result of a statement, or None after the last."""
        pointer = self._library.PQgetResult(self._pointer)
        return Result(self._library, pointer) if pointer else None

    def close(self) -> None:
        if self._pointer:
            self._library.PQfinish(self._pointer)
            self._pointer = None

    def __del__(self) -> None:
        if hasattr(self, "_pointer"):
            self.close()

    def _check(self, is_right: int) -> None:
        if not is_right:
            raise BrokenConnectionError(self.message)


@cache
def _load() -> Any:
    for path in _candidates():
        try:
            library = ctypes.CDLL(path)
        except OSError:
            continue
        for name, (result, arguments) in _SIGNATURES.items():
            function = getattr(library, name)
            function.restype, function.argtypes = result, arguments
        return library
    raise MissingLibraryError


def _candidates() -> list[str]:
    """Return where libpq may be, those of the wheel first."""
    found = [
        path
        for place in sys.path
        for pattern in _PATTERNS
        for path in sorted(glob.glob(os.path.join(glob.escape(place), pattern)))
    ]
    return [*found, "libpq.so.5", "libpq.5.dylib", "libpq.dll"]

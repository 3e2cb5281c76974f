"""Writing to the text index by way of another process: who searches has tantivy open already.

The child that takes in what has grown makes the documents, and holds the writer's lock until all
is done; the search that began it writes them, and is answered from what it wrote. Half as much is
imported twice, and nothing is opened twice. Messages begin with a letter for what is to be done:

    p   put a document: for each value a line "<field> <kind> <bytes>\\n", and the value, the kind
        being `s` for text, `i` for a number, `b` for bytes and `l` for a text of several
    d   delete the document of a place
    s   delete those of a session
    c   commit; the answer is when the newest turn began, or nothing if that failed
"""

from __future__ import annotations

from ccgrep.errors import TextIndexError
from ccgrep.light_typing import TYPE_CHECKING
from ccgrep.refresh.look import READY, TAKE_OVER

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ccgrep.fulltext.document import Fields
    from ccgrep.fulltext.reader import TextReader
    from ccgrep.fulltext.writer import TextWriter
    from ccgrep.refresh.messages import Line

_LETTERS: dict[type, str] = {str: "s", int: "i", bytes: "b", list: "l"}
_VALUES: dict[str, Callable[[bytes], Any]] = {"s": bytes.decode, "i": int, "b": bytes}


class HandedWriter:
    """Has a generation changed by who is at the other end of a line, and has opened it by now."""

    def __init__(self, line: Line) -> None:
        self._line = line
        self.added = 0
        line.send(TAKE_OVER)

    def put(self, fields: Fields) -> None:
        self._line.send(b"p" + packed(fields))
        self.added += 1

    def delete(self, place: str) -> None:
        self._line.send(b"d" + place.encode())

    def delete_session(self, session: str) -> None:
        self._line.send(b"s" + session.encode())

    def commit(self) -> None:
        self._line.send(b"c")

    def newest(self, _: int | None) -> int:
        newest = self._line.receive()
        if not newest:
            raise TextIndexError("the text index cannot be written by who searches it")
        return int(newest)


def write(line: Line, writer: TextWriter | None, before: int) -> tuple[TextReader, int] | None:
    """Writes what is said on the line. Gives a reader of all that is there then, and when the
    newest turn began, which was `before`.

    Nothing if there is no writer, if it fails, or if the other one dies or does it all by itself.
    """
    message = b""
    while message != b"c":
        try:
            message = line.receive()
        except EOFError:
            return None
        if message == READY:
            return None
        try:
            if writer is not None:
                _do(writer, message[:1], message[1:])
        except TextIndexError:
            writer = None
    newest = writer.newest(before) if writer is not None else 0
    try:
        line.send(b"%d" % newest if writer is not None else b"")
    except BrokenPipeError:
        return None
    return (writer.reader(), newest) if writer is not None else None


def _do(writer: TextWriter, what: bytes, about: bytes) -> None:
    match what:
        case b"p":
            writer.put(unpacked(about))
        case b"d":
            writer.delete(about.decode())
        case b"s":
            writer.delete_session(about.decode())
        case b"c":
            writer.commit()


def packed(fields: Fields) -> bytes:
    parts: list[bytes] = []
    for name, value in fields.items():
        for one in value if isinstance(value, list) else (value,):
            data = one if isinstance(one, bytes) else str(one).encode()
            parts += (f"{name} {_LETTERS[type(value)]} {len(data)}\n".encode(), data)
    return b"".join(parts)


def unpacked(data: bytes) -> Fields:
    fields: dict[str, Any] = {}
    at = 0
    while at < len(data):
        start = data.index(b"\n", at) + 1
        name, letter, size = data[at:start].decode().split()
        at = start + int(size)
        value = data[start:at]
        if letter == "l":
            fields.setdefault(name, []).append(value.decode())
        else:
            fields[name] = _VALUES[letter](value)
    return fields

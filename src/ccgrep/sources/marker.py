"""The field `ccgrep` in records of a transcript that ccgrep made from stored turns.

Both clients ignore the field, and Claude Code copies it into forks. It lets the reader divide a
rebuilt transcript into the same turns again, and names the stored object of each. A transcript may
lie: the reader only reports what it claims, and `ingest/rebuilt_turns.py` checks it.
"""

from typing import Any

import msgspec
from msgspec import Struct

from ccgrep.kinds import NoteKind
from ccgrep.model import ObjectId

FIELD = "ccgrep"


class Marker(Struct, frozen=True, omit_defaults=True):
    """What a record is for.

    A record with `turn` begins a turn, and its first text is the prompt. One with `note` is a note.
    Records for the client only, such as the turns before a fork, are not read.
    """

    turn: str = ""  # the stored turn, in hex
    note: NoteKind | None = None
    origin: str = ""  # the session from which this one was handed over
    is_undone: bool = False
    is_for_client: bool = False

    @property
    def turn_id(self) -> ObjectId | None:
        """The id of the stored turn, or None if there is none or it is malformed."""
        try:
            id = bytes.fromhex(self.turn)
        except ValueError:
            return None
        return ObjectId(id) if len(id) == 32 else None


def parse_marker(value: Any) -> Marker | None:
    """Return the marker of a record, or None if it has none."""
    if value is None:
        return None
    try:
        return msgspec.convert(value, Marker)
    except msgspec.ValidationError:
        return None

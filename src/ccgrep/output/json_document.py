"""Encodes JSON documents that are safe to print on a terminal.

Texts are complete. Characters that act on a terminal are written as JSON escapes, so a parser
reads the original text. Secrets are redacted.
"""

from typing import Any

import msgspec

from ccgrep.model import Turn
from ccgrep.text import json_escape, redact_values

SCHEMA = 1


def encode_document(fields: dict[str, Any]) -> str:
    """Return the fields as one JSON object with a schema version."""
    return _encode({"schema": SCHEMA, **fields})


def encode_turn(turn: Turn) -> str:
    """Return a stored turn with all its fields."""
    return _encode(turn)


def _encode(value: Any) -> str:
    plain = redact_values(msgspec.to_builtins(value))
    return json_escape(msgspec.json.encode(plain).decode())

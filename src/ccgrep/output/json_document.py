"""Encodes JSON documents that are safe to print on a terminal.

Texts are complete. Characters that act on a terminal are written as JSON escapes, so a parser
reads the original text. Secrets are redacted.
"""

from typing import Any

import msgspec

from ccgrep.text import json_escape, redact_values

SCHEMA = 1


def encode_document(fields: dict[str, Any]) -> str:
    """Return the fields as one JSON object with a schema version."""
    return encode({"schema": SCHEMA, **fields})


def encode(value: Any) -> str:
    """Return JSON of plain values, structs and stored objects."""
    plain = redact_values(msgspec.to_builtins(value))
    return json_escape(msgspec.json.encode(plain).decode())

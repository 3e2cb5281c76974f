"""The records of Claude Code's transcripts, and functions that extract their content.

Any field of a record may hold any value, so every field is `Any` until it has been checked.
"""

from typing import Any

import msgspec
from msgspec import Raw, Struct

from ccgrep.model import Usage
from ccgrep.sources.prompts import split_user_text
from ccgrep.sources.values import as_count, as_string, usage_key

IGNORED_TYPES = frozenset(
    "progress file-history-snapshot file-history-delta last-prompt permission-mode mode"
    " bridge-session agent-name pr-link worktree-state frame-link fork-context-ref relocated"
    " agent-color agent-setting tag task-summary session-mode isolation-latch".split()
)
_KNOWN_TYPES = IGNORED_TYPES | frozenset(
    "user assistant system attachment queue-operation summary ai-title custom-title"
    " continued-in".split()
)


class Attachment(Struct):
    type: Any = None
    prompt: Any = None
    commandMode: Any = None
    origin: Any = None
    isMeta: Any = None
    filename: Any = None
    path: Any = None
    content: Any = None

    def is_typed(self) -> bool:
        """Return whether a person typed the prompt, as far as the client's version records it."""
        is_prompt = self.commandMode in (None, "prompt", "bash")
        return is_prompt and self.isMeta is not True and _is_human(self.origin)

    def file_text(self) -> str:
        """Return the text of an attached file, `{type, file: {content}}` since version 2.1.114."""
        if isinstance(self.content, str):
            return self.content
        file = self.content.get("file") if isinstance(self.content, dict) else None
        return as_string(file.get("content")) if isinstance(file, dict) else ""


class Record(Struct):
    """One line of a transcript. Fields that are not listed here are never decoded."""

    type: Any = None
    subtype: Any = None
    uuid: Any = None
    parentUuid: Any = None
    sessionId: Any = None
    timestamp: Any = None
    cwd: Any = None
    gitBranch: Any = None
    version: Any = None
    slug: Any = None
    isSidechain: Any = None
    isMeta: Any = None
    isCompactSummary: Any = None
    isApiErrorMessage: Any = None
    origin: Any = None
    promptSource: Any = None
    message: Any = None
    requestId: Any = None
    operation: Any = None
    content: Any = None
    attachment: Raw = Raw()
    summary: Any = None
    leafUuid: Any = None
    aiTitle: Any = None
    customTitle: Any = None
    forkedFrom: Any = None
    continuedInSessionId: Any = None

    @staticmethod
    def is_record(value: dict[str, Any], /) -> bool:
        """Return whether an object on a damaged line is a record."""
        kind = value.get("type")
        has_id = "sessionId" in value or "uuid" in value
        return isinstance(kind, str) and (kind in _KNOWN_TYPES or has_id)

    def is_typed(self) -> bool:
        """Return whether a person typed the texts of a `user` record."""
        return _is_human(self.origin) and self.promptSource != "system"

    def api_message(self) -> dict[str, Any]:
        """Return the API message of the record, empty if it has none."""
        return self.message if isinstance(self.message, dict) else {}

    def decode_attachment(self) -> Attachment:
        """Return the attachment of the record, empty if it is malformed."""
        try:
            return msgspec.json.decode(self.attachment, type=Attachment)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return Attachment()


def _is_human(origin: Any) -> bool:
    return not isinstance(origin, dict) or origin.get("kind") in (None, "human")


def to_blocks(content: Any) -> list[dict[str, Any]]:
    """Return content of any shape as a list of blocks."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    if isinstance(content, dict):
        return [content]
    if not isinstance(content, list):
        return []
    return [
        block if isinstance(block, dict) else {"type": "text", "text": as_string(block)}
        for block in content
    ]


def extract_text(content: Any) -> str:
    """Return the text of all blocks, joined by newlines."""
    return "\n".join(filter(None, (as_string(block.get("text")) for block in to_blocks(content))))


def extract_prompt(text: str) -> str:
    """Return the part of a queued text that a person typed."""
    return "\n".join(part.text for part in split_user_text(text) if part.kind == "prompt")


def parse_usage(usage: dict[str, Any], message_id: str, request_id: Any, model: str) -> Usage:
    return Usage(
        key=usage_key(message_id, as_string(request_id)),
        model=model,
        input=as_count(usage.get("input_tokens")),
        output=as_count(usage.get("output_tokens")),
        cache_read=as_count(usage.get("cache_read_input_tokens")),
        cache_write=as_count(usage.get("cache_creation_input_tokens")),
    )

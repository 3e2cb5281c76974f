"""The records of Claude Code's transcripts, and functions that extract their content.

Any field of a record may hold any value, so every field is `Any` until it has been checked.
"""

from typing import Any

import msgspec
from msgspec import Raw, Struct

from ccgrep.model import ModelCost, Usage
from ccgrep.sources.prompts import split_user_text
from ccgrep.sources.values import as_amount, as_count, as_string, usage_key

_MAX_MODELS = 32
_MAX_MODEL_CHARS = 100
IGNORED_TYPES = frozenset(
    "progress file-history-snapshot file-history-delta last-prompt permission-mode mode"
    " bridge-session agent-name pr-link worktree-state frame-link fork-context-ref"
    " agent-color agent-setting tag task-summary session-mode isolation-latch atis-latch"
    " artifact-autoreact-ledger artifact-comment-monitor api-request api-request-blob"
    " api-request-shape api-request-resumed tools-used attribution-snapshot content-replacement"
    " data-flow-incomplete data-flow-records derived-from dev-mods ended-by-model"
    " history-suppression memory-mode observer-ref repl-mode resume-head-vouch"
    " session-owner".split()
)
_KNOWN_TYPES = IGNORED_TYPES | frozenset(
    "user assistant system attachment queue-operation summary ai-title custom-title"
    " continued-in relocated cost-state".split()
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
    relocatedCwd: Any = None
    totalCostUSD: Any = None
    modelUsage: Any = None
    costUSD: Any = None
    inputTokens: Any = None
    outputTokens: Any = None
    ccgrep: Any = None

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


def parse_usage(record: Record, message_id: str, model: str) -> Usage | None:
    """Return the tokens of a message, which early versions recorded beside it."""
    usage = record.api_message().get("usage")
    if not isinstance(usage, dict):
        usage = {"input_tokens": record.inputTokens, "output_tokens": record.outputTokens}
        if usage == {"input_tokens": None, "output_tokens": None}:
            return None
    created = usage.get("cache_creation")
    created = created if isinstance(created, dict) else {}
    if usage.get("speed") == "fast":
        model = f"{model}-fast"  # has a price of its own
    return Usage(
        key=usage_key(message_id, as_string(record.requestId)),
        model=model,
        input=as_count(usage.get("input_tokens")),
        output=as_count(usage.get("output_tokens")),
        cache_read=as_count(usage.get("cache_read_input_tokens")),
        cache_write=as_count(usage.get("cache_creation_input_tokens")),
        cache_write_5m=as_count(created.get("ephemeral_5m_input_tokens")),
        cache_write_1h=as_count(created.get("ephemeral_1h_input_tokens")),
    )


def parse_costs(model_usage: Any) -> tuple[ModelCost, ...]:
    """Return the costs of a `cost-state` record."""
    items = list(model_usage.items()) if isinstance(model_usage, dict) else []
    return tuple(
        ModelCost(
            model=as_string(model)[:_MAX_MODEL_CHARS],
            usd=as_amount(usage.get("costUSD")),
            input=as_count(usage.get("inputTokens")),
            output=as_count(usage.get("outputTokens")),
            cache_read=as_count(usage.get("cacheReadInputTokens")),
            cache_write=as_count(usage.get("cacheCreationInputTokens")),
        )
        for model, usage in items[:_MAX_MODELS]
        if isinstance(usage, dict)
    )

"""The records of Pi's and oh-my-pi's sessions, and functions that extract their content.

Any field of a record may hold any value, so every field is `Any` until it has been checked.
"""

import os
from typing import Any, NamedTuple

from msgspec import Struct

from ccgrep.lazy_re import compile_pattern
from ccgrep.model import Blob, Usage
from ccgrep.sources.identity import safe_id
from ccgrep.sources.values import as_amount, as_count, as_string, base64_blob, usage_key

IGNORED_TYPES = frozenset(
    "label custom thinking_level_change service_tier_change fast_mode_change mode_change"
    " context_edit credential_pin ttsr_injection reset_boundary".split()
)
IGNORED_ROLES = frozenset(["system", "fileMention"])
SUMMARY_ROLES = frozenset(["branchSummary", "compactionSummary"])
CONTEXT_ROLES = frozenset(["custom", "hookMessage", "developer"])
USER_COMMANDS = {"bashExecution": "command", "pythonExecution": "code"}
"""The roles of what the user ran without the agent, and the field with the command."""
_TYPES = IGNORED_TYPES | frozenset(
    "session title title_change session_info session_init message compaction branch_summary"
    " custom_message model_change usage model_usage".split()
)
_FILE = r'(?s)<file name="[^"\n]*">(?:\n.*?\n|[^\n]*?)</file>\n?'
_SKILL = r'(?s)(<skill name="([^"\n]*)" location="[^"\n]*">\n.*?\n</skill>)(?:\n\n(.*))?'
_BLOB = "blob:sha256:"
_SHA256 = r"[0-9a-f]{64}"
_STEM = r"\d{4}-\d\d-\d\dT[\d-]+Z?_(.+)"


class Record(Struct, rename="camel"):
    """One line of a session. Records of a version 1 file have neither `id` nor `parent_id`."""

    type: Any = None
    id: Any = None
    parent_id: Any = ""
    timestamp: Any = None
    cwd: Any = None
    parent_session: Any = None
    branched_from: Any = None
    name: Any = None
    title: Any = None
    message: Any = None
    summary: Any = None
    content: Any = None
    provider: Any = None
    model_id: Any = None
    model: Any = None
    usage: Any = None
    agent: Any = None

    @staticmethod
    def is_record(value: dict[str, Any], /) -> bool:
        """Return whether an object on a damaged line is a record."""
        return as_string(value.get("type")) in _TYPES


class State(Struct, frozen=True, omit_defaults=True):
    """What the reader carries from record to record. Its field names are an on-disk format.

    `follows` has, for each turn, the number of the turn before it in the tree, or -1. The next turn
    follows turn `current`, and the next record follows the record `leaf`.
    """

    id: str = ""
    cwd: str = ""
    forked_from: str = ""
    title: str = ""
    name: str = ""  # given by the user
    agent: str = ""
    first_prompt: str = ""
    model: str = ""
    models: tuple[str, ...] = ()
    unknown_types: dict[str, int] = {}
    cost_usd: float | None = None
    tree: str = ""  # the first record: forks have copies of it, other sessions have not
    roots: tuple[str, ...] = ()  # the records before the first turn
    leaf: str = ""
    current: int = -1
    follows: tuple[int, ...] = ()
    left_branch: str = ""  # a summary of the branch that the user left


class Typed(NamedTuple):
    """What the user typed, and the files and skills that the client put before it."""

    prompt: str
    context: tuple[str, ...]


def split_prompt(text: str) -> Typed:
    """Separate the typed prompt from the files (`@file`) and the skill (`/skill:name`)."""
    context: list[str] = []
    while text.startswith("<file name=") and (file := compile_pattern(_FILE).match(text)):
        context.append(file.group().strip())
        text = text[file.end() :]
    if text.startswith("<skill name=") and (skill := compile_pattern(_SKILL).fullmatch(text)):
        context.append(skill.group(1))
        text = f"/skill:{skill.group(2)} {skill.group(3) or ''}"
    return Typed(text.strip(), tuple(context))


def extract_text(content: Any) -> str:
    """Return the texts of a message's content, which is a string or a list of blocks."""
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else []
    texts = (block.get("text") for block in blocks if isinstance(block, dict))
    return "\n".join(text for text in texts if isinstance(text, str) and text)


def extract_images(content: Any) -> tuple[Blob, ...]:
    blocks = content if isinstance(content, list) else []
    images = (b for b in blocks if isinstance(b, dict) and b.get("type") == "image")
    return tuple(
        _image_blob(image.get("mimeType"), image["data"])
        for image in images
        if isinstance(image.get("data"), str)
    )


def _image_blob(media_type: Any, data: str) -> Blob:
    """Return the blob of an image. Oh-my-pi keeps large ones in files named after their hash."""
    sha256 = data.removeprefix(_BLOB)
    if data.startswith(_BLOB) and compile_pattern(_SHA256).fullmatch(sha256):
        return Blob(as_string(media_type), 0, sha256)
    return base64_blob(media_type, data)


def parse_usage(value: Any, model: str, *key: Any) -> tuple[Usage, float | None] | None:
    """Return the tokens and the cost of an answer, or None for an answer without any."""
    fields = value if isinstance(value, dict) else {}
    names = ("input", "output", "cacheRead", "cacheWrite")
    counts = [as_count(fields.get(name)) for name in names]
    if not any(counts):
        return None
    cost = fields.get("cost")
    usd = as_amount(cost.get("total")) if isinstance(cost, dict) else None
    return Usage(usage_key("pi", *key), model, *counts), usd


def parse_stem(stem: str) -> str:
    """Return the session id in a file name such as `2026-01-31T10-00-00-000Z_<id>`, or ''."""
    match = compile_pattern(_STEM).fullmatch(stem)
    return match.group(1) if match else ""


def parse_origin(parent: Any) -> str:
    """Return the id of the session that a header names by its path or, in oh-my-pi, by its id."""
    name = os.path.basename(as_string(parent)).removesuffix(".jsonl")
    return safe_id(parse_stem(name) or name) if name else ""

"""Shortens transcripts: what the clients put into them themselves is long and not ours.

System prompts, tool and skill listings become a few words. Every record, its order and its fields
stay. Paths of the scratch folder become paths below `/home/tester`.
"""

import json
from pathlib import Path
from typing import Any

HOME = "/home/tester"
_LONG = 60
_FEW = 2
_OWN_ATTACHMENTS = frozenset(["file", "directory", "queued_command", "edited_text_file"])
_CLIENT_FIELDS = frozenset(
    "base_instructions developer_instructions additional_tools dynamic_tools rate_limits".split()
)


def shorten_line(line: bytes) -> bytes:
    """Return a record without the client's long texts."""
    record = json.loads(line)
    if isinstance(record.get("payload"), dict):
        record["payload"] = _shorten_payload(record)
    elif (attachment := record.get("attachment")) and attachment["type"] not in _OWN_ATTACHMENTS:
        record["attachment"] = {"type": attachment["type"], **_cut(attachment)}
    return json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def _shorten_payload(record: dict[str, Any]) -> Any:
    if record["type"] == "world_state":
        return _cut(record["payload"])
    return _walk(record["payload"])


def _walk(value: Any) -> Any:
    """Shorten the messages of the client, wherever they are in a value."""
    if isinstance(value, list):
        return [_walk(one) for one in value]
    if not isinstance(value, dict):
        return value
    if value.get("role") == "developer":
        return {**_cut(value), "type": value.get("type"), "role": "developer"}
    return {
        name: _cut(one) if name in _CLIENT_FIELDS else _walk(one) for name, one in value.items()
    }


def _cut(value: Any) -> Any:
    """Return a value with short texts and short lists."""
    if isinstance(value, str):
        return value if len(value) <= _LONG else value[:_LONG] + "…"
    if isinstance(value, list):
        return [_cut(one) for one in value[:_FEW]]
    if isinstance(value, dict):
        return {name: _cut(one) for name, one in value.items()}
    return value


def rename(text: str, home: Path) -> str:
    """Replace the home, also where Claude Code writes it as the name of a project's folder."""
    old, new = ("".join(c if c.isalnum() else "-" for c in path) for path in (str(home), HOME))
    return text.replace(str(home), HOME).replace(old, new)


def shorten_files(files: dict[str, bytes], home: Path) -> dict[str, bytes]:
    """Return the files of a home by their new paths, shortened."""
    result: dict[str, bytes] = {}
    moved: dict[str, dict[int, int]] = {}
    for path, content in files.items():
        is_transcript = path.endswith(".jsonl")
        lines = content.splitlines(keepends=True) if is_transcript else [content]
        short = [rename(line.decode(), home).encode() for line in lines]
        if is_transcript:
            short = [shorten_line(line) for line in short]
        result[rename(path, home)] = b"".join(short)
        moved[Path(path).stem[-36:]] = _map_offsets(lines, short)
    return {path: _correct_offset(content, moved) for path, content in result.items()}


def _map_offsets(lines: list[bytes], short: list[bytes]) -> dict[int, int]:
    """Map the end of each line to its end in the shortened file."""
    old = new = 0
    ends = {}
    for before, after in zip(lines, short, strict=True):
        old, new = old + len(before), new + len(after)
        ends[old] = new
    return ends


def _correct_offset(content: bytes, moved: dict[str, dict[int, int]]) -> bytes:
    """Correct the byte offset by which a rollout of Codex refers to the one it continues."""
    if b'"history_base"' not in content:
        return content
    head, newline, rest = content.partition(b"\n")
    record = json.loads(head)
    base = record["payload"]["history_base"]
    base["end_byte_offset"] = moved[base["thread_id"]][base["end_byte_offset"]]
    return json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode() + newline + rest

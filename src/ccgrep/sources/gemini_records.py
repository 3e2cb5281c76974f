"""The records of Gemini CLI's recordings, and functions that extract their content.

Any field of a record may hold any value, so every field is `Any` until it has been checked.
"""

import os
from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import Struct

from ccgrep.hashing import sha256
from ccgrep.kinds import SessionKind
from ccgrep.sources.files import read_side_file, read_side_json
from ccgrep.sources.google_parts import split_content
from ccgrep.sources.identity import safe_id
from ccgrep.sources.scan import FoundFile
from ccgrep.sources.values import as_dicts, as_string, uuid_bytes

_ROOT_FILE_BYTES = 64 * 1024
_SHARED_IDS = frozenset(["a2a-server"])
"""Ids that are not unique: all conversations with an editor's extension have this one."""


class Record(Struct, gc=False, rename={"set": "$set", "rewind_to": "$rewindTo"}):
    """One line of a log, or one message of a document."""

    id: Any = None
    type: Any = None
    timestamp: Any = None
    content: Any = None
    displayContent: Any = None  # noqa: N815 - the client's names
    model: Any = None
    tokens: Any = None
    toolCalls: Any = None  # noqa: N815
    thoughts: Any = None
    sessionId: Any = None  # noqa: N815
    projectHash: Any = None  # noqa: N815
    kind: Any = None
    summary: Any = None
    messages: Any = None
    set: Any = None
    rewind_to: Any = None

    @staticmethod
    def is_record(value: dict[str, Any]) -> bool:
        return any(name in value for name in ("id", "sessionId", "$set", "$rewindTo"))


class State(Struct, frozen=True, omit_defaults=True):
    """What earlier records said that later ones depend on."""

    id: str = ""
    kind: SessionKind = "main"
    project_hash: str = ""
    cwd: str = ""  # as the client described it to the model
    title: str = ""
    first_prompt: str = ""
    models: tuple[str, ...] = ()
    unknown_types: dict[str, int] = {}
    aliases: dict[str, bytes] = {}  # the new ids of prompts that a compression kept


def make_id(recorded: str, path: str, default: str) -> str:
    """Return the id in a recording, or one of its path if the recorded id is not unique."""
    if recorded in _SHARED_IDS:
        project = os.path.basename(os.path.dirname(os.path.dirname(path)))
        return safe_id(f"{project}/{default}")
    return safe_id(recorded) if recorded else default


def find_cwd(found: FoundFile, state: State) -> str:
    """Return the directory of a recording's project, which is in no record.

    A folder is named after the project or after the hash of its path.
    """
    folder = found.path.rpartition(f"{os.sep}chats{os.sep}")[0]
    written = read_side_file(os.path.join(folder, ".project_root"), found.root, _ROOT_FILE_BYTES)
    if written and (cwd := written.decode("utf-8", "replace").strip()):
        return cwd
    projects = read_side_json(os.path.join(found.root, "projects.json"), found.root)
    paths = projects.get("projects")
    name = os.path.basename(folder)
    for path, slug in paths.items() if isinstance(paths, dict) else ():
        hash = sha256(path.encode("utf-8", "surrogatepass")).hexdigest()
        if slug == name or hash in (name, state.project_hash):
            return str(path)
    return state.cwd


def content_id(message: Record) -> bytes:
    """Return a second id of a message, which follows from what it says."""
    content = split_content(message.content)
    said = "\n".join(content.texts).strip()
    if not said:
        calls = [call.id for call in content.calls]
        said = "\n".join(
            calls or [as_string(call.get("id")) for call in as_dicts(message.toolCalls)]
        )
    return uuid_bytes(f"{as_string(message.type)}: {said}") if said else b""


def extract_thoughts(thoughts: Any) -> list[str]:
    """Return the texts of thoughts, each with its subject."""
    texts = []
    for thought in as_dicts(thoughts):
        subject, description = (as_string(thought.get(k)) for k in ("subject", "description"))
        texts.append("\n".join(filter(None, (f"**{subject}**" if subject else "", description))))
    return [text for text in texts if text.strip()]


def convert(value: Any) -> Record:
    """Return a record, empty if the value is no object."""
    return msgspec.convert(value, Record) if isinstance(value, dict) else Record()


def iterate_records(values: Any) -> Iterator[Record]:
    return map(convert, as_dicts(values))

"""Claude Code and Claude Desktop: their files, and the identity of each session."""

import os

from msgspec.structs import replace

from ccgrep.kinds import FileKind
from ccgrep.sources.files import read_side_json
from ccgrep.sources.identity import document_id, is_agent_transcript, safe_id
from ccgrep.sources.reading import Input, Reading, SessionIdentity
from ccgrep.sources.registry import DESKTOP_FOLDERS, is_desktop_dir
from ccgrep.sources.scan import FoundFile, Listing, is_desktop_name, side_kind
from ccgrep.sources.values import as_count, as_string

_DESKTOP_DEPTH = 2  # an account, and in it a workspace
_SKIPPED_FOLDERS = frozenset(["tool-results", "memory", "file-history"])
_NO_SESSIONS = frozenset(["journal.jsonl", "resume-head.jsonl"])
"""What a workflow did, and the newest part of a long transcript once more, to resume it."""
_WORKERS = ("agent-acompact-", "agent-aprompt_suggestion-", "agent-aside_question-")
_MAX_META_BYTES = 64 * 1024


def list_files(listing: Listing) -> None:
    """Add transcripts, documents, and files with titles."""
    root = listing.root.path
    is_desktop = is_desktop_dir(root)
    listing.add_path(os.path.join(root, "history.jsonl"), "history")
    _add_sessions(listing, os.path.join(root, "projects"), is_required=not is_desktop)
    for name in DESKTOP_FOLDERS if is_desktop else ():
        _add_desktop_sessions(listing, os.path.join(root, name))
    if not is_desktop:
        _add_documents(listing, os.path.join(root, "plans"))


def _add_sessions(listing: Listing, directory: str, is_required: bool = False) -> None:
    """Add the source files below a directory, without following links."""
    for entry in listing.list_folder(directory, is_required):
        if entry.is_dir(follow_symlinks=False):
            if entry.name not in _SKIPPED_FOLDERS:
                _add_sessions(listing, entry.path)
            elif entry.name == "memory":
                _add_memory(listing, entry.path)
        elif kind := _find_kind(entry.name):
            listing.add_entry(entry, kind)


def _find_kind(name: str) -> FileKind | None:
    is_session = name.endswith(".jsonl") and name not in _NO_SESSIONS
    return "session" if is_session else side_kind(name)


def _add_memory(listing: Listing, directory: str) -> None:
    """Add the memory of a project. Agents may create other folders with that name."""
    if os.path.basename(os.path.dirname(os.path.dirname(directory))) == "projects":
        _add_documents(listing, directory)


def _add_documents(listing: Listing, directory: str) -> None:
    for entry in listing.list_folder(directory):
        if entry.name.endswith(".md") and not entry.is_dir(follow_symlinks=False):
            listing.add_entry(entry, "document")


def _add_desktop_sessions(listing: Listing, directory: str, depth: int = 0) -> None:
    """Add the files with titles in the workspaces below a directory, and Cowork's transcripts."""
    for entry in listing.list_folder(directory):
        is_dir = entry.is_dir(follow_symlinks=False)
        if is_dir and depth < _DESKTOP_DEPTH:
            _add_desktop_sessions(listing, entry.path, depth + 1)
        elif is_dir and entry.name.startswith("local_"):
            _add_sessions(listing, os.path.join(entry.path, ".claude", "projects"))
        elif not is_dir and is_desktop_name(entry.name):
            listing.add_entry(entry, "desktop_session")


def identify(path: str) -> SessionIdentity:
    """Return what the path of a transcript or document says about its session."""
    if path.endswith(".md"):
        return SessionIdentity(document_id(path), "document")
    folder, name = os.path.split(path)
    stem = name.removesuffix(".jsonl")
    if not is_agent_transcript(path):
        return SessionIdentity(safe_id(stem))
    before, subagents, _ = f"{folder}{os.sep}".rpartition(f"{os.sep}subagents{os.sep}")
    meta = read_side_json(os.path.join(folder, stem + ".meta.json"), max_bytes=_MAX_META_BYTES)
    depth = as_count(meta.get("spawnDepth")) or 0
    return SessionIdentity(
        id=safe_id(stem),
        kind="worker" if stem.startswith(_WORKERS) else "subagent",
        parent=safe_id(os.path.basename(before)) if subagents else "",
        description=as_string(meta.get("description")) or as_string(meta.get("name")),
        agent=as_string(meta.get("agentType")),
        nesting_call=as_string(meta.get("toolUseId")) if depth > 1 else "",
    )


def read(input: Input, found: FoundFile) -> Reading:
    """Read a transcript, and the outputs of calls that are stored beside it."""
    if call := input.identity.nesting_call:
        from ccgrep.sources.nested_agents import find_starter  # noqa: PLC0415 - nesting is rare

        starter = find_starter(found.path, found.root, call)
        parent = starter or input.identity.parent
        input = replace(input, identity=replace(input.identity, parent=parent))
    from ccgrep.sources.claude import ClaudeReader  # noqa: PLC0415 - not to list files
    from ccgrep.sources.spills import Spills  # noqa: PLC0415

    spills = Spills(found.path, found.root, input.temp_dirs, input.earlier)
    return ClaudeReader(input, spills).read()


def list_side_files(path: str) -> list[str]:
    """Return the description of a sub-agent, and the stored outputs of a session.

    If the transcript of a session is gone, its outputs belong to its sub-agents.
    """
    stem, extension = os.path.splitext(path)
    if extension != ".jsonl":
        return []
    session, subagents, _ = stem.rpartition(f"{os.sep}subagents{os.sep}")
    if not subagents:
        return _list_folder(os.path.join(stem, "tool-results"))
    outputs: list[str] = []
    if not os.path.exists(f"{session}.jsonl"):
        outputs = _list_folder(os.path.join(session, "tool-results"))
    return [f"{stem}.meta.json", *outputs]


def _list_folder(folder: str) -> list[str]:
    try:
        return [os.path.join(folder, name) for name in sorted(os.listdir(folder))]
    except OSError:
        return []

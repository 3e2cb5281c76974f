"""Codex: its files, and the identity of each session."""

import os

from ccgrep.kinds import FileKind
from ccgrep.lazy_re import compile_pattern
from ccgrep.sources.identity import safe_id
from ccgrep.sources.reading import Input, Reading, SessionIdentity
from ccgrep.sources.scan import FoundFile, Listing

_ROLLOUT = r"rollout(-.*)?\.jsonl(\.zst)?"
_DATABASE = r"(state|thread_history)_\d{1,4}\.sqlite(-wal)?"
_UUID_AT_END = r"(?i)[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}(?=$|_)"


def list_files(listing: Listing) -> None:
    """Add rollouts, and files with titles and lost sessions."""
    root = listing.root.path
    listing.add_path(os.path.join(root, "history.jsonl"), "history")
    listing.add_tree(os.path.join(root, "sessions"), _find_kind, is_required=True)
    listing.add_tree(os.path.join(root, "archived_sessions"), _find_kind)
    listing.add_path(os.path.join(root, "session_index.jsonl"), "thread_names")
    _add_databases(listing)
    # Codex may be compressing a rollout while both files exist.
    listing.drop(lambda path: path.endswith(".zst") and listing.has(path.removesuffix(".zst")))


def _find_kind(name: str) -> FileKind | None:
    return "session" if compile_pattern(_ROLLOUT).fullmatch(name) else None


def _add_databases(listing: Listing) -> None:
    """Add the databases. A new one needs no watching: new transcripts come with it."""
    try:
        entries = os.scandir(listing.root.path)
    except OSError:
        return  # The sessions cannot be listed either, which is an error there.
    with entries:
        for entry in entries:
            if compile_pattern(_DATABASE).fullmatch(entry.name):
                is_state = entry.name.startswith("state")
                listing.add_entry(entry, "codex_state" if is_state else "codex_history")


def identify(path: str) -> SessionIdentity:
    """Return the id in a rollout's name, for rollouts whose first line has none."""
    folder, name = os.path.split(path)
    stem = name.removesuffix(".zst").removesuffix(".jsonl")
    if stem == "rollout":
        return SessionIdentity(safe_id(os.path.basename(folder)))
    uuid = compile_pattern(_UUID_AT_END).search(stem)
    return SessionIdentity(uuid.group() if uuid else safe_id(stem))


def read(input: Input, _found: FoundFile) -> Reading:
    """Read a rollout."""
    from ccgrep.sources.codex import CodexReader  # noqa: PLC0415 - not to list files

    return CodexReader(input).read()

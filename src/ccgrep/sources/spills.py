"""Finds large tool outputs that Claude Code stored in files of their own.

The transcript holds a preview and a path. Only the last names of that path are used, and only if
they are plain names: no text in a transcript can lead out of the project's directory.
"""

import os

from ccgrep.lazy_re import compile_pattern
from ccgrep.model import Blob
from ccgrep.sources.files import read_side_file
from ccgrep.sources.values import bytes_blob

_SPILL_PATH = r"([A-Za-z0-9-]{1,64})[/\\]tool-results[/\\]([A-Za-z0-9._-]{1,200})"
_CALL_ID = r"[A-Za-z0-9_-]{1,100}"
_MEDIA_TYPES = {".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".png": "image/png"}


class Spills:
    """The `tool-results` directories that a transcript may refer to."""

    def __init__(self, transcript: str, root: str = "") -> None:
        folder, name = os.path.split(transcript)
        session_dir, subagents, _ = folder.rpartition(f"{os.sep}subagents")
        if subagents:
            folder, name = os.path.split(session_dir)
        self._project_dir = folder
        self._session_id = name.removesuffix(".jsonl")
        self._root = root

    def resolve(self, text: str, call_id: str) -> tuple[str, list[Blob]]:
        """Return the whole output behind a `<persisted-output>` text, else the text unchanged."""
        for session, name in self._candidates(text, call_id):
            path = os.path.join(self._project_dir, session, "tool-results", name)
            content = read_side_file(path, self._root)
            if content is None:
                continue
            media_type = _MEDIA_TYPES.get(os.path.splitext(name)[1].lower())
            if media_type:
                return text, [bytes_blob(media_type, content)]
            return content.decode("utf-8", "replace"), []
        return text, []

    def _candidates(self, text: str, call_id: str) -> list[tuple[str, str]]:
        """Return the session and file names to try, the most likely first."""
        candidates: list[tuple[str, str]] = []
        if match := compile_pattern(_SPILL_PATH).search(text):
            session, name = match.groups()
            if not name.startswith("."):
                candidates += [(self._session_id, name), (session, name)]
        if compile_pattern(_CALL_ID).fullmatch(call_id):
            candidates.append((self._session_id, call_id + ".txt"))
        return candidates

"""Large tool outputs that Claude Code wrote beside the transcript, not into it.

The line holds a preview and a path; only the path's last parts are used, and only when
they are plain names, so no text of a transcript can lead out of the project's folder.
"""

import os

from ccgrep.lazy_re import compile_pattern
from ccgrep.model import Blob
from ccgrep.sources.files import MAX_SIDE_FILE_BYTES, read_side_file
from ccgrep.sources.payload import bytes_blob

_PLACE = r"([A-Za-z0-9-]{1,64})[/\\]tool-results[/\\]([A-Za-z0-9._-]{1,200})"
_CALL_ID = r"[A-Za-z0-9_-]{1,100}"
_MEDIA_TYPES = {".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".png": "image/png"}


class Spills:
    """The `tool-results` folders that a transcript may point to."""

    def __init__(self, project_dir: str, session_id: str, root: str = "") -> None:
        self._project_dir = project_dir
        self._session_id = session_id
        self._root = root

    def resolve(self, text: str, call_id: str) -> tuple[str, list[Blob]]:
        """The whole output behind a `<persisted-output>` text, else that text as it is."""
        for session, name in self._candidates(text, call_id):
            path = os.path.join(self._project_dir, session, "tool-results", name)
            content = read_side_file(path, MAX_SIDE_FILE_BYTES, self._root)
            if content is None:
                continue
            media_type = _MEDIA_TYPES.get(os.path.splitext(name)[1].lower())
            if media_type:
                return text, [bytes_blob(media_type, content)]
            return content.decode("utf-8", "replace"), []
        return text, []

    def _candidates(self, text: str, call_id: str) -> list[tuple[str, str]]:
        found: list[tuple[str, str]] = []
        if place := compile_pattern(_PLACE).search(text):
            session, name = place.groups()
            if not name.startswith("."):
                found += [(self._session_id, name), (session, name)]
        if compile_pattern(_CALL_ID).fullmatch(call_id):
            found.append((self._session_id, call_id + ".txt"))
        return found

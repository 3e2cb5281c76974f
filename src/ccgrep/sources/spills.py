"""Finds tool outputs that Claude Code stored in files of their own.

Large outputs are beside the transcript, which holds a preview and a path. Outputs of background
commands are in a temporary directory. Only the last names of a path are used, and only if they are
plain names: no text in a transcript can lead out of these directories.
"""

import os
from collections.abc import Iterator, Sequence
from itertools import product

from ccgrep.lazy_re import compile_pattern
from ccgrep.model import Blob
from ccgrep.sources.files import read_own_file, read_side_file
from ccgrep.sources.values import bytes_blob

_SPILL_PATH = r"([A-Za-z0-9-]{1,64})[/\\]tool-results[/\\]([A-Za-z0-9._-]{1,200})"
_TASK_PATH = (
    r"[/\\]claude(?:-\d+)?[/\\]([A-Za-z0-9-]{1,255})[/\\](?:([A-Za-z0-9-]{1,64})[/\\])?"
    r"tasks[/\\]([A-Za-z0-9_-]{1,64}\.output)"
)
_BACKGROUND = "Command running in background with ID: ", "Command was manually backgrounded "
_SPILLED = "<persisted-output>"
CUT_OUTPUTS = ("Output too large. Showing first", "Tool output was too large and has been")
"""How results of Gemini CLI and Qwen Code begin whose whole output is in a file."""
_CALL_ID = r"[A-Za-z0-9_-]{1,100}"
_MEDIA_TYPES = {".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".png": "image/png"}


def is_background(text: str) -> bool:
    """Return whether the result of a command says that it runs in the background."""
    return text.startswith(_BACKGROUND)


def is_gap(text: str, output: str) -> bool:
    """Return whether a result lacks an output that was read from its file before."""
    for cut in (_SPILLED, CUT_OUTPUTS):
        if text.startswith(cut):
            return not output.startswith(cut)
    return is_background(text) and len(output) > len(text) and output.startswith(text)


class Spills:
    """The directories with outputs that a transcript, or one it continues, may refer to.

    `lacks_output` tells whether a file that the transcript names was not found.
    """

    def __init__(
        self,
        transcript: str,
        root: str = "",
        temp_dirs: Sequence[str] = (),
        earlier: Sequence[str] = (),
    ) -> None:
        folder, name = os.path.split(transcript)
        session_dir, subagents, _ = folder.rpartition(f"{os.sep}subagents")
        if subagents:
            folder, name = os.path.split(session_dir)
        self._project_dirs = (folder, *map(os.path.dirname, earlier))
        self._session_id = name.removesuffix(".jsonl")
        self._root = root
        self._temp_dirs = temp_dirs
        self.lacks_output = False

    def resolve(self, text: str, call_id: str) -> tuple[str, list[Blob]]:
        """Return the whole output of a call whose result names a file, else the text unchanged."""
        if text.startswith(_SPILLED):
            return self._read_spilled(text, call_id)
        return (self._read_background(text) if is_background(text) else text), []

    def _read_spilled(self, text: str, call_id: str) -> tuple[str, list[Blob]]:
        for folder, (session, name) in product(self._project_dirs, self._candidates(text, call_id)):
            path = os.path.join(folder, session, "tool-results", name)
            content = read_side_file(path, self._root)
            if content is None:
                continue
            media_type = _MEDIA_TYPES.get(os.path.splitext(name)[1].lower())
            if media_type:
                return text, [bytes_blob(media_type, content)]
            return content.decode("utf-8", "replace"), []
        self.lacks_output = True
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

    def _read_background(self, text: str) -> str:
        """Return the result of a background command, with its output so far."""
        for folders, name in self._task_files(text):
            for temp_dir in self._temp_dirs:
                content = read_own_file(temp_dir, folders, name)
                if content is not None:
                    return f"{text}\n{content.decode('utf-8', 'replace')}".rstrip("\n")
        self.lacks_output = True
        return text

    def _task_files(self, text: str) -> Iterator[tuple[list[str], str]]:
        match = compile_pattern(_TASK_PATH).search(text)
        if match is None:
            return
        slug, session, name = match.groups()
        top, own_slug = f"claude-{os.getuid()}", os.path.basename(self._project_dirs[0])
        yield [top, own_slug, self._session_id, "tasks"], name
        # A session that moved or was forked names the directory where the command ran.
        yield [top, slug, *([session] if session else []), "tasks"], name

"""Gives sessions the titles of side files, unless their own title is stronger.

A transcript is read again when it grows: `keep_side_values` keeps what it does not say itself.
"""

from collections.abc import Iterable
from typing import get_args

from msgspec.structs import replace

from ccgrep.kinds import TitleOrigin
from ccgrep.model import Session
from ccgrep.sources.scan import TITLE_KINDS, FoundFile
from ccgrep.sources.titles import clean_title
from ccgrep.store.commit import Commit
from ccgrep.store.manifest import Row

_ORDER: tuple[TitleOrigin, ...] = get_args(TitleOrigin)
_SIDE_ORIGINS = ("summary", "name")


def retitle(commit: Commit, files: Iterable[FoundFile]) -> None:
    """Apply the titles in `files` to the sessions of a commit."""
    chosen = [file for file in files if file.kind in TITLE_KINDS]
    if not chosen:
        return
    from ccgrep.sources.side_titles import read_side_titles  # noqa: PLC0415 - rarely needed

    for id, title in read_side_titles(chosen).items():
        set_title(commit, id, title.text, title.origin)


def set_title(commit: Commit, id: str, text: str, origin: TitleOrigin) -> None:
    """Give a session a title from elsewhere, unless its own is stronger."""
    row, title = commit.row(id), clean_title(text)
    if row is None or not title or _rank(origin) < _rank(row.session.title_origin):
        return
    session = replace(row.session, title=title, title_origin=origin)
    if session != row.session:
        commit.set_session(row, session)


def keep_side_values(row: Row | None, session: Session) -> Session:
    """Return `session`, a new reading of `row`, with what the row knows from side files.

    That is the project, if no record has a working directory, and the title, if it is stronger.
    """
    before = row.session if row is not None else session
    if not session.cwd:
        session = replace(session, cwd=before.cwd, project=before.project)
    is_stronger = _rank(before.title_origin) >= _rank(session.title_origin)
    if before.title_origin not in _SIDE_ORIGINS or not is_stronger:
        return session
    return replace(session, title=before.title, title_origin=before.title_origin)


def _rank(origin: TitleOrigin) -> int:
    return _ORDER.index(origin)

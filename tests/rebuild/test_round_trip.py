"""Rebuilding a transcript and reading it again changes nothing in the store."""

import shutil
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from ccgrep.errors import NotFoundError
from ccgrep.model import Entry, Session
from ccgrep.rebuild.transcript import rebuild_transcript
from ccgrep.store.manifest import Row
from tests.clients import archive
from tests.helpers import scale
from tests.helpers.homes import Home

_SPECIAL = ("fork", "agent", "compact", "rewind", "queue")
_ALL = list(archive.read_outcomes())
NAMES = [
    name
    for number, name in enumerate(_ALL)
    if scale.IS_LONG or number % 4 == 0 or any(word in name for word in _SPECIAL)
]
_ROOTS = {"claude_code": ".claude", "codex": ".codex"}


def rebuild(home: Home, row: Row) -> bytes:
    """Write the rebuilt transcript of a session to where its client expects it."""
    transcript = rebuild_transcript(home.store, row)
    path = home.directory / _ROOTS[row.session.source] / transcript.path
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(transcript.content)
    return transcript.content


def rebuild_all(home: Home) -> dict[str, bytes]:
    """Rebuild every session, and return the transcripts by session."""
    rebuilt = {}
    for id, row in home.rows().items():
        try:
            rebuilt[id] = rebuild(home, row)
        except NotFoundError:
            assert row.session.is_prompt_only or row.session.kind in ("worker", "document")
    return rebuilt


def delete_transcripts(home: Home) -> None:
    for top in (home.projects, home.codex_sessions):
        shutil.rmtree(top, ignore_errors=True)
        top.mkdir(parents=True)


def describe(home: Home) -> dict[str, Any]:
    """Return what must stay the same: sessions, and turns without their records."""
    found = {}
    for id, row in home.rows().items():
        manifest = home.manifest(id)
        found[id] = (_reduce_session(row.session), *map(_reduce_entry, manifest.entries))
    return found


def _reduce_session(session: Session) -> Session:
    return replace(session, is_recovered=False, bad_lines=0, unknown_types={})


def _reduce_entry(entry: Entry) -> Entry:
    return replace(entry, start=0, end=0, uuids=b"", is_open=False)


@pytest.mark.parametrize("name", NAMES)
def test_rebuilt_transcripts_change_nothing(name: str, tmp_path: Path) -> None:
    home = Home(tmp_path)
    archive.unpack(archive.read_outcomes()[name], home.directory)
    home.index()
    before = describe(home)
    delete_transcripts(home)
    home.index()
    first = rebuild_all(home)
    home.index()
    assert describe(home) == before
    rows = home.rows()
    assert not any(rows[id].is_gone for id in first)
    assert not any(row.is_superseded for row in rows.values())
    assert rebuild_all(home) == first

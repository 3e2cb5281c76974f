"""A user's home in a temporary directory, and what every test asks of it."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Collection
from pathlib import Path
from typing import Any

from msgspec.structs import replace

import ccgrep
from ccgrep.config import Config, make_config
from ccgrep.index.build import IndexReport
from ccgrep.model import Turn
from ccgrep.ops import indexing
from ccgrep.ops.search import How, search
from ccgrep.search.request import Request
from ccgrep.store import fsck
from ccgrep.store.database import Store, open_store
from ccgrep.store.manifest import Manifest, Row
from tests.transcripts import ClaudeFile, CodexFile

SOURCE = str(Path(ccgrep.__file__).parents[1])
"""What is tested as a command is what is tested as modules, whatever else is installed."""


class Home:
    """Transcripts of both agents and a store."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.projects = directory / ".claude" / "projects"
        self.codex_sessions = directory / ".codex" / "sessions"
        self.store_dir = directory / "store"
        self.embed = "never"
        """Whether `index` embeds; what does not search by meaning has no use for it."""
        self.projects.mkdir(parents=True)
        self.codex_sessions.mkdir(parents=True)

    @property
    def environment(self) -> dict[str, str]:
        return {
            "HOME": str(self.directory),
            "CCGREP_DIR": str(self.store_dir),
            "PATH": os.environ["PATH"],
            "PYTHONPATH": SOURCE,
            "TZ": "UTC",
            "CCGREP_EMBED": self.embed,
        }

    @property
    def config(self) -> Config:
        return make_config(self.environment)

    @property
    def store(self) -> Store:
        return open_store(str(self.store_dir))

    def claude(self, seed: int = 1, slug: str = "-home-sam-src-shop", **fields: Any) -> ClaudeFile:
        return ClaudeFile(self.projects / slug, seed, **fields)

    def subagent(self, parent: ClaudeFile, name: str, seed: int = 50) -> ClaudeFile:
        return ClaudeFile(
            parent.path.with_suffix("") / "subagents",
            seed,
            name=name,
            session_id=parent.session_id,
            is_sidechain=True,
        )

    def codex(self, seed: int = 1, **fields: Any) -> CodexFile:
        return CodexFile(self.codex_sessions, seed, **fields)

    def rest(self) -> None:
        """Makes every transcript and folder look as if it had not been touched for an hour."""
        hour_ago = time.time() - 3600
        for top in (self.projects, self.codex_sessions):
            for path in (*top.rglob("*"), top):
                os.utime(path, (hour_ago, hour_ago))

    def index(self, **options: Any) -> IndexReport:
        return indexing.index(self.config, **options)

    def run(self, *arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
        """The real command, in a process of its own."""
        return subprocess.run(
            [sys.executable, "-m", "ccgrep", *arguments],
            env={**self.environment, **options.pop("env", {})},
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=False,
            timeout=120,
            **options,
        )

    def json(self, *arguments: str) -> Any:
        done = self.run(*arguments, "--json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def rows(self) -> dict[str, Row]:
        return {row.session.id: row for row in self.store.rows()}

    def manifest(self, id: str) -> Manifest:
        return self.store.manifest(self.rows()[id])

    def turns(self, id: str) -> list[Turn]:
        store = self.store
        return [store.load(entry.turn, Turn) for entry in self.manifest(id).entries]

    def prompts(self, id: str) -> list[str]:
        return [turn.prompt for turn in self.turns(id)]


def live(store: Store) -> list[tuple[Any, ...]]:
    """The live manifests, as values that do not depend on the order of arrival."""
    found = []
    for row in store.rows():
        if row.is_gone or row.is_superseded or not row.session.turns:
            continue
        manifest = store.manifest(row)
        session = replace(manifest.session, id=row.base_id)
        turns = [store.read(entry.turn) for entry in manifest.entries]
        found.append((session, manifest.entries, manifest.bad, turns))
    return sorted(found, key=lambda item: (item[0].id, item[1][0].turn, item[1][0].start))


QUERIES = (
    Request(("prompt",), limit=0),
    Request(("answer",), limit=0),
    Request(("done more",), limit=0),
    Request(("make",), types=("tool",), limit=0),
    Request(("ok",), "literal", limit=0),
    Request(("o",), "literal", types=("tool",), limit=0),
    Request(("[a-m]+e",), "regex", limit=0),
    Request(("a",), "literal", invert=True, limit=0),
)


def found(config: Config, but: Collection[str]) -> list[set[tuple[str, int]]]:
    """The places that each of some queries finds, of sessions that are live."""
    rows = [row for row in open_store(config.store_dir).rows() if row.base_id not in but]
    ids = {row.session.id: row.base_id for row in rows if not (row.is_gone or row.is_superseded)}
    answers = []
    for request in QUERIES:
        result, _ = search(config, request, How(is_refreshed=False))
        places = [place for hit in result.answer.hits for place in (hit.place, *hit.also_in)]
        answers.append({(ids[p.session], p.turn) for p in places if p.session in ids})
    return answers


def assert_same_as_fresh(home: Home, but: Collection[str] = ()) -> None:
    """The store holds, and finds, what one built from scratch on the same transcripts does.

    Sessions in `but` are left out: those of which the store knows more than is left.
    """
    fresh_dir = home.directory / f"fresh-{os.urandom(4).hex()}"
    fresh_config = home.config._replace(store_dir=str(fresh_dir))
    indexing.index(fresh_config)
    ours, fresh = (
        [item for item in live(store) if item[0].id not in but]
        for store in (home.store, open_store(str(fresh_dir)))
    )
    assert ours == fresh
    assert found(home.config, but) == found(fresh_config, but)
    report = fsck.check(home.store)
    assert (report.damaged, report.lost) == ([], [])

"""A user's home in a temporary directory, and what every test asks of it."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Collection, Mapping
from contextlib import suppress
from hashlib import file_digest, sha256
from pathlib import Path
from typing import Any, NamedTuple

from msgspec.structs import replace

import ccgrep
from ccgrep.config import Config, make_config
from ccgrep.errors import NotFoundError
from ccgrep.ingest.report import IndexReport
from ccgrep.model import Turn
from ccgrep.ops import index
from ccgrep.ops.search import search
from ccgrep.search.request import Filters, Hit, Request
from ccgrep.search.searcher import SearchOptions
from ccgrep.store import fsck
from ccgrep.store.fsio import remove_tree
from ccgrep.store.lifecycle import open_store
from ccgrep.store.manifest import Manifest, Row
from ccgrep.store.store import Store
from tests.helpers import fork_server as served
from tests.helpers import portability
from tests.helpers.transcripts import EPOCH_MS, ClaudeFile, CodexFile

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
            "PYTHONPATH": portability.python_path(SOURCE),
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
        return index.index(self.config, **options)

    def run(self, *arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
        """The real command; with more in its environment, in a Python of its own."""
        if not options.keys() - {"input", "cwd"}:
            directory = os.path.abspath(options.get("cwd") or ".")
            return served.run(arguments, self.environment, options.get("input", ""), directory)
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


_WORDS = ("prompt", "answer", "done", "more", "make", "login", "prompt answer", "done more 1")
_EXACT = ("ok", "o", "answer 1", "Prompt", "-", "é")
_PATTERNS = ("[a-m]+e", "^prompt", "(done|answer) [0-9]", "e$", "x*")
_MIDDLE_MS = EPOCH_MS + 3 * 86_400_000 // 50
_FILTERS = (
    Filters(project="shop"),
    Filters(here="/home/sam/src/api"),
    Filters(since=_MIDDLE_MS),
    Filters(until=_MIDDLE_MS),
    Filters(source="codex"),
    Filters(tool="bash"),
    Filters(tool="any"),
    Filters(branch="main"),
    Filters(model="opus"),
    Filters(subagents="only"),
    Filters(subagents="exclude"),
    Filters(max_sessions=3),
)
_BY_WORDS: tuple[Request, ...] = (
    *(Request((text,)) for text in _WORDS),
    *(Request((text,), "literal") for text in _EXACT),
    *(Request((text,), "regex") for text in _PATTERNS),
    *(Request(("answer",), filters=filters) for filters in _FILTERS[::2]),
    *(Request(("[a-z]e",), "regex", filters) for filters in _FILTERS),
    Request(("make",), types=("tool",)),
    Request(("o",), "literal", types=("tool",)),
    Request(("look",), types=("user", "thinking")),
    Request(("a",), "literal", invert=True),
    Request(("PROMPT",), "literal", ignore_case=True),
    Request(("do.e",), "regex", whole_word=True),
    Request(("answer", "done"), per_session=1),
)
_BY_MEANING = (
    Request(("the login is slow",), "semantic"),
    Request(("what was mended",), "semantic", types=("assistant",)),
    Request(("again",), "semantic", Filters(source="claude_code")),
    Request(("worker hangs",), "hybrid"),
    Request(("case",), "hybrid", Filters(since=_MIDDLE_MS)),
    Request(("build",), "hybrid", alpha=0.2),
)
BY_WORDS = len(_BY_WORDS)
QUERIES = tuple(request._replace(limit=0) for request in (*_BY_WORDS, *_BY_MEANING))
"""Fifty; those by meaning are asked where there are vectors."""

Answers = list[list[tuple[float, frozenset[tuple[str, int]]]]]


class Held(NamedTuple):
    """What a store holds and finds, as values that can be compared with those of another."""

    sessions: list[tuple[Any, ...]]
    answers: Answers
    relaxed: list[int]  # of which answers the words were relaxed

    @property
    def places(self) -> list[set[tuple[str, int]]]:
        """What each query finds, whatever the order. Which turns have enough of the words is told
        by scores, and these by what was deleted too, until `gc`: such answers are left out."""
        found = [{place for _, places in hits for place in places} for hits in self.answers]
        return [set() if n in self.relaxed else places for n, places in enumerate(found)]


def held(config: Config, but: Collection[str] = ()) -> Held:
    """What the live sessions of a store are, and where each of the queries finds them."""
    store = open_store(config.store_dir)
    rows = list(store.rows())
    ids = {
        row.session.id: row.base_id
        for row in rows
        if not (row.is_gone or row.is_superseded or row.base_id in but)
    }
    others = frozenset(row.session.id for row in rows) - ids.keys()
    searcher = search(config, QUERIES[0], SearchOptions()).searcher
    answers: Answers = []
    relaxed = []
    for request in QUERIES if _has_vectors(config) else QUERIES[:BY_WORDS]:
        filters = request.filters._replace(except_ids=others)
        try:
            answer = searcher.run(request._replace(filters=filters))[0]
            hits = answer.hits
            if answer.tier == "most":
                relaxed.append(len(answers))
        except NotFoundError:
            hits = []
        found = [(round(hit.score, 6), _places(hit, ids)) for hit in hits]
        answers.append([(score, places) for score, places in found if places])
    return Held([item for item in live(store) if item[0].id not in but], answers, relaxed)


def _places(hit: Hit, ids: Mapping[str, str]) -> frozenset[tuple[str, int]]:
    places = (hit.place, *hit.also_in)
    return frozenset((ids[p.session], p.turn) for p in places if p.session in ids)


def _has_vectors(config: Config) -> bool:
    return any(files for _, _, files in os.walk(os.path.join(config.store_dir, "vectors")))


_FRESH: dict[str, Held] = {}
"""By the state of the transcripts: a fault test comes back to the same one many times."""
_KEPT = 16


def fresh(home: Home, but: Collection[str] = ()) -> Held:
    """What a store holds that is built from scratch on the same transcripts."""
    key = _state(home, but)
    if key not in _FRESH:
        if len(_FRESH) == _KEPT:
            _FRESH.clear()
        _FRESH[key] = _built(home, but)
    return _FRESH[key]


def _built(home: Home, but: Collection[str]) -> Held:
    store_dir = str(home.directory / f"fresh-{os.urandom(4).hex()}")
    config = home.config._replace(store_dir=store_dir)
    index.index(config)
    if _has_vectors(home.config):
        from ccgrep.ops.embed import embed_pending  # noqa: PLC0415 - imports numpy

        embed_pending(config)
    found = held(config, but)
    remove_tree(store_dir)
    return found


def _state(home: Home, but: Collection[str]) -> str:
    """Everything that a store is built from, contents included."""
    config = home.config
    tops = [home.projects.parent, home.codex_sessions.parent]
    tops += [Path(root.path) for root in config.roots]
    paths = sorted({path for top in tops for path in top.rglob("*") if path.is_file()})
    stats = [(str(path), path.stat().st_mtime_ns) for path in paths]
    digest = sha256(repr((config, _has_vectors(config), sorted(but), stats)).encode())
    for path in paths:
        with suppress(PermissionError), path.open("rb") as file:
            digest.update(file_digest(file, "sha256").digest())
    return digest.hexdigest()


def _unequal(ours: list[tuple[Any, ...]], other: list[tuple[Any, ...]]) -> tuple[list[Any], ...]:
    """Which sessions, but for their turns' contents, only the one and only the other store has."""
    alone = [
        [item for item in these if item not in those]
        for these, those in ((ours, other), (other, ours))
    ]
    return tuple([item[:3] for item in items] for items in alone)


def _differing(ours: Held, other: Held) -> list[tuple[str, set[tuple[str, int]]]]:
    """What one of two stores finds and the other does not, by query."""
    pairs = zip(QUERIES, ours.places, other.places, strict=False)
    return [
        (repr(query.patterns), mine ^ theirs) for query, mine, theirs in pairs if mine != theirs
    ]


def assert_same_as_fresh(home: Home, but: Collection[str] = (), is_collected: bool = False) -> None:
    """The store holds, and finds, what one built from scratch on the same transcripts does.

    Sessions in `but` are left out: those of which the store knows more than is left. With
    `is_collected`, after `gc`, order and scores are the same too; those by meaning but for what
    it matters which texts were embedded together.
    """
    ours, other = held(home.config, but), fresh(home, but)
    assert ours.sessions == other.sessions, _unequal(ours.sessions, other.sessions)
    assert ours.places == other.places, _differing(ours, other)
    if is_collected:
        assert ours.answers[:BY_WORDS] == other.answers[:BY_WORDS]
        for mine, theirs in zip(ours.answers, other.answers, strict=True):
            assert [places for _, places in mine] == [places for _, places in theirs]
            assert all(abs(a - b) < 1e-3 for (a, _), (b, _) in zip(mine, theirs, strict=True))
    report = fsck.check(home.store)
    assert (report.damaged, report.lost) == ([], [])

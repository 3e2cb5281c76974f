"""A user's home in a temporary directory, and the comparison with a fresh store."""

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
from ccgrep.store.manifest import Manifest, Row, SourceFile
from ccgrep.store.originals import iterate_parts
from ccgrep.store.store import Store
from tests.helpers import fork_server, portability
from tests.helpers.extras import require_model
from tests.helpers.transcripts import EPOCH_MS, ClaudeFile, CodexFile, PaginatedCodexFile

SOURCE = str(Path(ccgrep.__file__).parents[1])
"""Commands under test import from here, whichever ccgrep is installed."""


class Home:
    """Transcripts of both agents and a store."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.projects = directory / ".claude" / "projects"
        self.codex_sessions = directory / ".codex" / "sessions"
        self.store_dir = directory / "store"
        self._embed = "never"
        self.projects.mkdir(parents=True)
        self.codex_sessions.mkdir(parents=True)

    @property
    def embed(self) -> str:
        """The setting `embed`, which is `never` unless a test needs vectors."""
        return self._embed

    @embed.setter
    def embed(self, value: str) -> None:
        if value != "never":
            require_model()
        self._embed = value

    @property
    def environment(self) -> dict[str, str]:
        return {
            "HOME": str(self.directory),
            "CCGREP_DIR": str(self.store_dir),
            "PATH": os.environ["PATH"],
            "PYTHONPATH": portability.python_path(SOURCE),
            "TZ": "UTC",
            "CCGREP_EMBED": self._embed,
            # On a busy machine, the default limits would stop a refresh or a search.
            "CCGREP_REFRESH_BUDGET_S": "600",
            "CCGREP_TIMEOUT_S": "0",
            "CCGREP_RECALL_TIMEOUT_S": "600",
            "CCGREP_TEAM_TIMEOUT_S": "0",
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

    def paginated_codex(self, seed: int = 1, **fields: Any) -> PaginatedCodexFile:
        return PaginatedCodexFile(self.codex_sessions, seed, **fields)

    def rest(self) -> None:
        """Set the mtime of every transcript and directory to an hour ago."""
        hour_ago = time.time() - 3600
        for top in (self.projects, self.codex_sessions):
            for path in (*top.rglob("*"), top):
                os.utime(path, (hour_ago, hour_ago))

    def index(self, **options: Any) -> IndexReport:
        return index.index(self.config, **options)

    def run(self, *arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
        """Run the real command, with any option but `input` and `cwd` in a new process."""
        if not options.keys() - {"input", "cwd"}:
            directory = os.path.abspath(options.get("cwd") or ".")
            return fork_server.run(arguments, self.environment, options.get("input", ""), directory)
        return subprocess.run(
            [sys.executable, "-m", "ccgrep", *arguments],
            env={**self.environment, **options.pop("env", {})},
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=False,
            timeout=fork_server.TIMEOUT_S,
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


def live_sessions(store: Store) -> list[tuple[Any, ...]]:
    """Return the live sessions as values that do not depend on the order of ingestion."""
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
    Filters(projects=("shop",)),
    Filters(here="/home/sam/src/api"),
    Filters(since=_MIDDLE_MS),
    Filters(until=_MIDDLE_MS),
    Filters(sources=("codex",)),
    Filters(tools=("bash",)),
    Filters(tools=("any",)),
    Filters(branches=("main",)),
    Filters(models=("opus",)),
    Filters(subagents="only"),
    Filters(subagents="exclude"),
    Filters(max_sessions=3),
)
_WORD_QUERIES: tuple[Request, ...] = (
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
_SEMANTIC_QUERIES = (
    Request(("the login is slow",), "semantic"),
    Request(("what was mended",), "semantic", types=("assistant",)),
    Request(("again",), "semantic", Filters(sources=("claude_code",))),
    Request(("worker hangs",), "hybrid"),
    Request(("case",), "hybrid", Filters(since=_MIDDLE_MS)),
    Request(("build",), "hybrid", alpha=0.2),
)
WORD_QUERIES = len(_WORD_QUERIES)
QUERIES = tuple(request._replace(limit=0) for request in (*_WORD_QUERIES, *_SEMANTIC_QUERIES))
"""Fifty queries; the semantic ones run only on a store with vectors."""

Answers = list[list[tuple[float, frozenset[tuple[str, int]]]]]


class Content(NamedTuple):
    """What a store holds and finds, comparable with another store."""

    sessions: list[tuple[Any, ...]]
    answers: Answers
    relaxed: list[int]  # the answers that hold turns with only most of the words

    @property
    def places(self) -> list[set[tuple[str, int]]]:
        """What each query finds, in any order.

        Relaxed answers are left out: they depend on scores, which deleted turns affect until `gc`.
        """
        found = [{place for _, places in hits for place in places} for hits in self.answers]
        return [set() if n in self.relaxed else places for n, places in enumerate(found)]


def read_content(config: Config, but: Collection[str] = ()) -> Content:
    """Return the live sessions of a store, except `but`, and what each query finds."""
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
    for request in QUERIES if _has_vectors(config) else QUERIES[:WORD_QUERIES]:
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
    return Content(
        [item for item in live_sessions(store) if item[0].id not in but], answers, relaxed
    )


def _places(hit: Hit, ids: Mapping[str, str]) -> frozenset[tuple[str, int]]:
    places = (hit.place, *hit.also_in)
    return frozenset((ids[p.session], p.turn) for p in places if p.session in ids)


def _has_vectors(config: Config) -> bool:
    return any(files for _, _, files in os.walk(os.path.join(config.store_dir, "vectors")))


_FRESH: dict[str, Content] = {}
"""Fresh stores by the state of the transcripts, to which a fault test often returns."""
_MAX_FRESH = 16


def fresh(home: Home, but: Collection[str] = ()) -> Content:
    """Return the content of a store built from scratch on the same transcripts."""
    key = _state(home, but)
    if key not in _FRESH:
        if len(_FRESH) == _MAX_FRESH:
            _FRESH.clear()
        _FRESH[key] = _build_fresh(home, but)
    return _FRESH[key]


def _build_fresh(home: Home, but: Collection[str]) -> Content:
    store_dir = str(home.directory / "fresh")
    config = home.config._replace(store_dir=store_dir)
    index.index(config)
    if _has_vectors(home.config):
        from ccgrep.ops.embed import embed_pending  # noqa: PLC0415 - imports numpy

        embed_pending(config)
    found = read_content(config, but)
    remove_tree(store_dir)
    return found


def _state(home: Home, but: Collection[str]) -> str:
    """Return a hash of everything that a store is built from."""
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


def _difference(ours: list[tuple[Any, ...]], other: list[tuple[Any, ...]]) -> tuple[list[Any], ...]:
    """Return the sessions that only one of two stores has, without the texts of their turns."""
    alone = [
        [item for item in these if item not in those]
        for these, those in ((ours, other), (other, ours))
    ]
    return tuple([item[:3] for item in items] for items in alone)


def _different_places(ours: Content, other: Content) -> list[tuple[str, set[tuple[str, int]]]]:
    """Return what only one of two stores finds, by query."""
    pairs = zip(QUERIES, ours.places, other.places, strict=False)
    return [
        (repr(query.patterns), mine ^ theirs) for query, mine, theirs in pairs if mine != theirs
    ]


def assert_same_as_fresh(home: Home, but: Collection[str] = (), is_collected: bool = False) -> None:
    """Assert that the store holds and finds what a store built from scratch does.

    Sessions in `but` are left out: the store knows more of them than the transcripts that remain.
    With `is_collected`, after `gc`, order and scores must be the same, too. Semantic scores may
    differ slightly, since a vector depends on the texts in its batch.
    """
    ours, other = read_content(home.config, but), fresh(home, but)
    assert ours.sessions == other.sessions, _difference(ours.sessions, other.sessions)
    assert ours.places == other.places, _different_places(ours, other)
    if is_collected:
        assert ours.answers[:WORD_QUERIES] == other.answers[:WORD_QUERIES]
        for mine, theirs in zip(ours.answers, other.answers, strict=True):
            scores = {places: score for score, places in theirs}
            assert {places for _, places in mine} == scores.keys()
            assert all(abs(score - scores[places]) < 1e-3 for score, places in mine)
    report = fsck.check(home.store)
    assert (report.damaged, report.lost) == ([], [])
    assert_bytes_stored(home)


def stored_bytes(store: Store, file: SourceFile) -> bytes:
    return b"".join(iterate_parts(file.parts, store.read))


def assert_bytes_stored(home: Home) -> None:
    """Assert that the store holds every byte of the transcripts that it knows."""
    store = home.store
    for row in store.rows():
        for file in row.files:
            if os.path.isfile(file.path):
                content = Path(file.path).read_bytes()
                assert stored_bytes(store, file) == content, (file.path, len(content))

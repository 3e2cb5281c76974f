"""What a search is asked for, and what it answers: plain values, cheap to import."""

from __future__ import annotations

from ccgrep.light_typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from ccgrep.kinds import Mode, SourceName, Subagents, TextKind, Tier


SEMANTIC_MODES = ("semantic", "hybrid")


class Filters(NamedTuple):
    """Which turns are meant; every one that is set must hold."""

    project: str | None = None
    here: str | None = None  # a directory: its project, those below it and above it
    since: int | None = None
    until: int | None = None
    source: SourceName | None = None
    sessions: tuple[str, ...] | None = None
    tool: str | None = None
    branch: str | None = None
    model: str | None = None
    subagents: Subagents = "include"
    max_sessions: int = 0
    only: frozenset[str] | None = None  # whole ids: these sessions alone
    without: frozenset[str] = frozenset()  # whole ids: never these


class Request(NamedTuple):
    """A search. Several patterns are alternatives."""

    patterns: tuple[str, ...]
    mode: Mode = "words"
    filters: Filters = Filters()
    types: tuple[TextKind, ...] = ()
    limit: int = 10  # 0 is all
    per_session: int = 0
    ignore_case: bool = False
    whole_word: bool = False
    invert: bool = False
    is_every_match: bool = False  # whether each match is shown, or some of them are enough
    is_own_left_out: bool = False  # whether ccgrep's own output counts for nothing
    is_counted: bool = True  # whether the total must be right, or may be what was looked at
    surfaces: tuple[str, ...] = ()  # what is compared by meaning; none is what is usual
    alpha: float | None = None  # the weight of meaning in a hybrid search
    deadline: float | None = None  # on time.monotonic()'s clock


class Place(NamedTuple):
    session: str
    turn: int


class Passage(NamedTuple):
    """The part of a turn's text that is nearest to the query, in characters."""

    surface: str
    start: int
    end: int


class Hit(NamedTuple):
    """A turn that was found, at the most recent of its places."""

    place: Place
    score: float
    started: int
    kind: str
    also_in: tuple[Place, ...] = ()
    matches: int = 1  # in the exact modes
    passage: Passage | None = None  # when searched by meaning
    parts: tuple[tuple[str, float], ...] = ()  # what the score is made of


class Answer(NamedTuple):
    """Hits, the best first. `total` counts those that the limit cut off too."""

    hits: list[Hit]
    total: int
    tier: Tier
    relaxed: tuple[str, ...] = ()  # the words of which a hit has most
    is_cut_short: bool = False  # the time was up


class Embedded(NamedTuple):
    """How many of the texts within the embedding window have vectors."""

    texts: int
    total: int


class Coverage(NamedTuple):
    """How much of what is on disk was searched."""

    is_fresh: bool = True
    behind_files: int = 0
    behind_bytes: int = 0
    is_whole: bool = True  # False while tools and sub-agents are still being indexed
    embedded: Embedded | None = None  # for a semantic search

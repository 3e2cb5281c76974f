"""Requests and answers: the values that go into a search and come out. Cheap to import."""

from __future__ import annotations

from ccgrep.light_typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

    from ccgrep.kinds import Inclusion, Mode, Order, SourceName, TextKind, Tier
    from ccgrep.store.marks import Marked


SEMANTIC_MODES = ("semantic", "hybrid")
DISCUSSION_SCORE = 0.5
"""A turn whose discussion has all words scores more, one that needs its tool calls does not."""


class SessionIds(NamedTuple):
    """Whole session ids. If `is_except`, it stands for all sessions but these."""

    ids: frozenset[str]
    is_except: bool = False

    def has(self, id: str) -> bool:
        return (id in self.ids) != self.is_except


class Filters(NamedTuple):
    """Which turns to search; a turn must pass every filter that is set.

    The values of one filter are alternatives.
    """

    projects: tuple[str, ...] = ()
    here: str | None = None  # a directory in, above or below a project
    since: int | None = None
    until: int | None = None
    sources: tuple[SourceName, ...] = ()
    sessions: tuple[str, ...] | None = None  # REFs
    tools: tuple[str, ...] = ()
    branches: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    machines: SessionIds | None = None  # the sessions of the chosen machines
    marked: Callable[[], Marked] | None = None  # reads the marks, which a refresh may change
    subagents: Inclusion = "include"
    documents: Inclusion = "include"  # project memory and plans
    max_sessions: int = 0
    only_ids: frozenset[str] | None = None  # whole session ids, as in `except_ids`
    except_ids: frozenset[str] = frozenset()


class Request(NamedTuple):
    """A search for one or more patterns, which are alternatives."""

    patterns: tuple[str, ...]
    mode: Mode = "words"
    filters: Filters = Filters()
    types: tuple[TextKind, ...] = ()
    limit: int = 10  # 0 for all
    per_session: int = 0
    order: Order = "score"
    needs_all_words: bool = False
    ignore_case: bool = False
    whole_word: bool = False
    invert: bool = False
    finds_every_match: bool = False  # otherwise only the first in each text
    excludes_own_output: bool = False  # leaves out turns that match only in calls of ccgrep
    needs_total: bool = True  # otherwise the search may stop at the limit
    surfaces: tuple[str, ...] = ()  # for semantic search; empty for the default
    alpha: float | None = None  # the weight of the semantic score in a hybrid search
    deadline: float | None = None  # of time.process_time(), for exact searches
    is_mode_chosen: bool = False  # by ccgrep: without a model, words answer


class Place(NamedTuple):
    """The address of a turn: a session id and a turn number."""

    session: str
    turn: int


class Passage(NamedTuple):
    """The part of a turn's text that is most similar to the query, in characters."""

    surface: str
    start: int
    end: int


class Hit(NamedTuple):
    """A matching turn, at the most recent of its places."""

    place: Place
    score: float
    started: int
    kind: str
    also_in: tuple[Place, ...] = ()
    matches: int = 1  # counted by exact searches
    passage: Passage | None = None  # for semantic searches
    parts: tuple[tuple[str, float], ...] = ()  # of the score


class Answer(NamedTuple):
    """Hits, the best first; `total` counts those beyond the limit, too, but not all if a search
    stopped early: then `is_total` is false."""

    hits: list[Hit]
    total: int
    tier: Tier
    relaxed: tuple[str, ...] = ()  # the words of a short query, if some hits lack one
    complete: int = 0  # the number of hits before those
    is_cut_short: bool = False  # at the deadline
    is_total: bool = True


class Embedded(NamedTuple):
    """How many of the texts within the embedding window have vectors."""

    texts: int
    total: int
    outside: int = 0  # turns outside the window that have no vectors


class Coverage(NamedTuple):
    """How much of what is on disk was searched."""

    is_fresh: bool = True
    behind_files: int = 0
    behind_bytes: int = 0
    is_whole: bool = True  # False while tools and sub-agents are still being indexed
    embedded: Embedded | None = None  # for a semantic search

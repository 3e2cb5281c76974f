"""The state of the Claude Code reader, and how records change it.

The state is immutable, so a turn can keep the state in which it began. It is stored with the
session and lets the next run resume there: its field names are an on-disk format.

A prompt that was typed while the agent worked can appear in three forms: a `queue` operation, an
`attachment` and a `user` record. The state tracks which forms were seen, so that each such prompt
begins one turn.
"""

from collections.abc import Sequence
from typing import Literal, Self

from msgspec import Struct
from msgspec.structs import replace

from ccgrep.kinds import SessionKind
from ccgrep.model import Entry, ModelCost, Session
from ccgrep.sources.claude_records import (
    IGNORED_TYPES,
    Record,
    extract_prompt,
    extract_text,
    parse_costs,
)
from ccgrep.sources.titles import MAX_TITLE_CHARS
from ccgrep.sources.values import (
    append_unique,
    as_amount,
    as_string,
    count_type,
    find_project,
    parse_time,
    uuid_bytes,
)

_MAX_SEEN_PROMPTS = 20
_MAX_SUMMARIES = 50
_FORK_MS = 1000
"""Records of one moment may be out of order by less."""

PromptForm = Literal["queue", "attachment", "user"]


class SeenPrompt(Struct, frozen=True, array_like=True):
    """A prompt that began a turn. It is fresh until the agent's next message."""

    text: str
    forms: tuple[str, ...]
    is_fresh: bool = True


Injected = tuple[tuple[str, int | None], ...]
"""Prompts that were sent to the agent while it worked, with their times."""


class State(Struct, frozen=True, omit_defaults=True):
    """What the reader carries from record to record."""

    cwd: str = ""
    last_cwd: str = ""
    relocated_cwd: str = ""
    branch: str = ""
    parent: str = ""
    custom_title: str = ""
    ai_title: str = ""
    summaries: tuple[tuple[str, bytes], ...] = ()
    slug: str = ""
    first_prompt: str = ""
    forked_from: str = ""
    continued_in: str = ""
    begun: int | None = None  # when the first prompt was queued, before any turn
    cost_usd: float | None = None
    costs: tuple[ModelCost, ...] = ()
    versions: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    unknown_types: dict[str, int] = {}
    queue: tuple[str, ...] = ()  # prompts that wait for the agent
    injected: Injected = ()  # prompts sent to it
    taken: tuple[SeenPrompt, ...] = ()  # prompts that began a turn

    def apply_envelope(self, record: Record, kind: SessionKind) -> Self:
        """Apply the fields that every record of a message has."""
        forked = record.forkedFrom
        if isinstance(forked, dict):
            forked = forked.get("sessionId")
        return replace(
            self,
            cwd=self.cwd or as_string(record.cwd),
            last_cwd=as_string(record.cwd) or self.last_cwd,
            branch=self.branch or as_string(record.gitBranch),
            slug=as_string(record.slug) or self.slug,
            parent=self.parent or (as_string(record.sessionId) if kind != "main" else ""),
            versions=append_unique(self.versions, record.version),
            forked_from=self.forked_from or as_string(forked),
        )

    def make_session(self, id: str, kind: SessionKind) -> Session:
        """Return a session with what its records say of all of them."""
        return Session(
            id=id,
            source="claude_code",
            kind=kind,
            project=find_project(self.cwd),
            cwd=self.cwd,
            current_cwd=self.current_cwd,
            branch=self.branch,
            models=self.models,
            versions=self.versions,
        )

    @property
    def current_cwd(self) -> str:
        """The last directory, if it is another one than the first.

        A session that moved to a worktree may go on recording the directory where it began.
        """
        current = self.relocated_cwd or self.last_cwd
        return current if current != self.cwd else ""

    def find_fork_time(self, entries: Sequence[Entry]) -> int | None:
        """Return when the session was forked, or None if it was not.

        A fork queues its first prompt and then copies the turns of its original, which are older.
        """
        begun, first = self.begun, entries[0].started if entries else None
        is_fork = begun is not None and first is not None and begun > first + _FORK_MS
        return begun if is_fork else None

    def add_cost(self, usd: float | None) -> Self:
        """Add the cost of one message, which early versions recorded."""
        return self if usd is None else replace(self, cost_usd=(self.cost_usd or 0) + usd)

    def add_model(self, model: str) -> Self:
        if not model or model in self.models:
            return self
        return replace(self, models=append_unique(self.models, model))

    def apply_metadata(self, record: Record) -> Self:
        """Apply a record that describes the session, or count its type as unknown."""
        match record.type:
            case "ai-title":
                return replace(self, ai_title=as_string(record.aiTitle))
            case "custom-title":
                return replace(self, custom_title=as_string(record.customTitle))
            case "summary":
                text = as_string(record.summary)[:MAX_TITLE_CHARS]
                summary = (text, uuid_bytes(record.leafUuid))
                return replace(self, summaries=(*self.summaries, summary)[-_MAX_SUMMARIES:])
            case "relocated":
                return replace(self, relocated_cwd=as_string(record.relocatedCwd))
            case "cost-state":
                usd, costs = as_amount(record.totalCostUSD), parse_costs(record.modelUsage)
                return replace(self, cost_usd=usd, costs=costs)
            case "continued-in":
                return replace(self, continued_in=as_string(record.continuedInSessionId))
            case kind if as_string(kind) not in IGNORED_TYPES:
                return replace(self, unknown_types=count_type(self.unknown_types, kind))
        return self

    def apply_queue_operation(self, record: Record) -> Self:
        """Apply an operation on the prompts that were typed while the agent worked.

        `remove` injects a prompt into the running turn. After `dequeue`, an ordinary user record
        follows. `popAll` returns all prompts to the input box.
        """
        queue = list(self.queue)
        content = extract_text(record.content)
        injected = self.injected
        match record.operation:
            case "enqueue":
                queue.append(content)
            case "remove" | "dequeue":
                popped = content or (queue[0] if queue else "")
                if popped in queue or "" in queue:
                    queue.remove(popped if popped in queue else "")
                if record.operation == "remove" and (typed := extract_prompt(popped)):
                    injected = (*injected, (typed, parse_time(record.timestamp)))
            case "popAll":
                queue.clear()
        return replace(self, queue=tuple(queue), injected=injected)

    def split_injected(self, text: str) -> tuple[Injected, Injected]:
        """Return the injected prompts before `text` and after it. Without it, all are before."""
        position = next((n for n, (known, _) in enumerate(self.injected) if known == text), None)
        if position is None:
            return self.injected, ()
        return self.injected[:position], self.injected[position + 1 :]

    def remove_waiting(self, form: PromptForm, text: str) -> tuple[Self, tuple[str, ...]]:
        """Remove a prompt from the queue, and return the forms in which it was seen.

        The `remove` of an attachment may follow it, and does not name its prompt. So an empty
        place stays in the queue.
        """
        before, after = self.split_injected(text)
        if len(before) + len(after) < len(self.injected):
            return replace(self, injected=(*before, *after)), ("queue", form)
        queue = list(self.queue)
        if text in queue:
            position = queue.index(text)
            queue[position : position + 1] = [""] if form == "attachment" else []
        return replace(self, queue=tuple(queue)), (form,)

    def add_seen_prompt(self, text: str, forms: tuple[str, ...]) -> Self:
        """Record that a prompt began a turn."""
        return replace(self, taken=(*self.taken, SeenPrompt(text, forms))[-_MAX_SEEN_PROMPTS:])

    def match_seen_prompt(self, form: PromptForm, text: str) -> Self | None:
        """Record a further form of a prompt, or return None if the prompt was not seen before."""
        for known in self.taken:
            is_repeated = known.text == text and form not in known.forms
            # A user record follows at once, an attachment perhaps much later.
            if is_repeated and (known.is_fresh or form != "user"):
                seen = replace(known, forms=(*known.forms, form))
                return replace(self, taken=tuple(seen if p is known else p for p in self.taken))
        return None

    def age_seen_prompts(self) -> Self:
        """Mark all prompts as no longer fresh, and drop those of which no other form can follow."""
        if not any(known.is_fresh for known in self.taken):
            return self
        kept = (known for known in self.taken if known.forms != ("user",))
        return replace(self, taken=tuple(replace(known, is_fresh=False) for known in kept))

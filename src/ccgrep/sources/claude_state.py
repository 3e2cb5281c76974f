"""The state of the Claude Code reader, and how records change it.

The state is immutable, so a turn can keep the state in which it began. It is stored with the
session and lets the next run resume there: its field names are an on-disk format.

A prompt that was typed while the agent worked can appear in three forms: a `queue` operation, an
`attachment` and a `user` record. The state tracks which forms were seen, so that each such prompt
begins one turn.
"""

from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from ccgrep.kinds import SessionKind
from ccgrep.sources.claude_records import IGNORED_TYPES, Record, extract_prompt, extract_text
from ccgrep.sources.values import append_unique, as_string, count_type, parse_time, uuid_bytes

_MAX_SEEN_PROMPTS = 20
_MAX_SUMMARIES = 50

PromptForm = Literal["queue", "attachment", "user"]


class SeenPrompt(Struct, frozen=True, array_like=True):
    """A prompt that began a turn. It is fresh until the agent's next message."""

    text: str
    forms: tuple[str, ...]
    is_fresh: bool = True


class State(Struct, frozen=True, omit_defaults=True):
    """What the reader carries from record to record."""

    cwd: str = ""
    branch: str = ""
    parent: str = ""
    custom_title: str = ""
    ai_title: str = ""
    summaries: tuple[tuple[str, bytes], ...] = ()
    slug: str = ""
    first_prompt: str = ""
    forked_from: str = ""
    continued_in: str = ""
    versions: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    unknown_types: dict[str, int] = {}
    queue: tuple[str, ...] = ()  # prompts that wait for the agent
    injected: tuple[tuple[str, int | None], ...] = ()  # prompts sent to it, with their times
    taken: tuple[SeenPrompt, ...] = ()  # prompts that began a turn


def apply_envelope(state: State, record: Record, kind: SessionKind) -> State:
    """Apply the fields that every record of a message has."""
    forked = record.forkedFrom
    if isinstance(forked, dict):
        forked = forked.get("sessionId")
    return replace(
        state,
        cwd=state.cwd or as_string(record.cwd),
        branch=state.branch or as_string(record.gitBranch),
        slug=as_string(record.slug) or state.slug,
        parent=state.parent or (as_string(record.sessionId) if kind != "main" else ""),
        versions=append_unique(state.versions, record.version),
        forked_from=state.forked_from or as_string(forked),
    )


def apply_metadata(state: State, record: Record) -> State:
    """Apply a record that describes the session, or count its type as unknown."""
    match record.type:
        case "ai-title":
            return replace(state, ai_title=as_string(record.aiTitle))
        case "custom-title":
            return replace(state, custom_title=as_string(record.customTitle))
        case "summary":
            summary = (as_string(record.summary), uuid_bytes(record.leafUuid))
            return replace(state, summaries=(*state.summaries, summary)[-_MAX_SUMMARIES:])
        case "continued-in":
            return replace(state, continued_in=as_string(record.continuedInSessionId))
        case kind if as_string(kind) not in IGNORED_TYPES:
            return replace(state, unknown_types=count_type(state.unknown_types, kind))
    return state


def apply_queue_operation(state: State, record: Record) -> State:
    """Apply an operation on the prompts that were typed while the agent worked.

    `remove` injects a prompt into the running turn. After `dequeue`, an ordinary user record
    follows. `popAll` returns all prompts to the input box.
    """
    queue = list(state.queue)
    content = extract_text(record.content)
    injected = state.injected
    match record.operation:
        case "enqueue":
            queue.append(content)
        case "remove" | "dequeue":
            popped = content or (queue[0] if queue else "")
            if popped in queue:
                queue.remove(popped)
            if record.operation == "remove" and (typed := extract_prompt(popped)):
                injected = (*injected, (typed, parse_time(record.timestamp)))
        case "popAll":
            queue.clear()
    return replace(state, queue=tuple(queue), injected=injected)


def remove_waiting(state: State, form: PromptForm, text: str) -> tuple[State, tuple[str, ...]]:
    """Remove a prompt from the queue, and return the forms in which it was seen."""
    queue, injected = list(state.queue), list(state.injected)
    if text in queue:
        queue.remove(text)
    forms: tuple[str, ...] = (form,)
    for waiting in injected:
        if waiting[0] == text:
            injected.remove(waiting)
            forms = ("queue", form)
            break
    return replace(state, queue=tuple(queue), injected=tuple(injected)), forms


def add_seen_prompt(state: State, text: str, forms: tuple[str, ...]) -> State:
    """Record that a prompt began a turn."""
    return replace(state, taken=(*state.taken, SeenPrompt(text, forms))[-_MAX_SEEN_PROMPTS:])


def match_seen_prompt(state: State, form: PromptForm, text: str) -> State | None:
    """Record a further form of a prompt, or return None if the prompt was not seen before."""
    for known in state.taken:
        is_repeated = known.text == text and form not in known.forms
        # A user record follows at once. An attachment may follow its queue operation much later.
        if is_repeated and (known.is_fresh or form != "user"):
            seen = replace(known, forms=(*known.forms, form))
            return replace(state, taken=tuple(seen if p is known else p for p in state.taken))
    return None


def age_seen_prompts(state: State) -> State:
    """Mark all prompts as no longer fresh, and drop those of which no other form can follow."""
    if not any(known.is_fresh for known in state.taken):
        return state
    kept = (known for known in state.taken if known.forms != ("user",))
    return replace(state, taken=tuple(replace(known, is_fresh=False) for known in kept))

"""Any turns survive being written for a client and read again."""

from io import BytesIO
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from ccgrep.ingest.rebuilt_turns import find_stored
from ccgrep.kinds import SourceName
from ccgrep.model import (
    Blob,
    Entry,
    Message,
    Note,
    ObjectId,
    Session,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Turn,
)
from ccgrep.rebuild.claude_transcript import write_claude
from ccgrep.rebuild.codex_rollout import write_codex
from ccgrep.rebuild.translate import translate_turn
from ccgrep.sources.claude import ClaudeReader
from ccgrep.sources.codex import CodexReader
from ccgrep.sources.jsonl import Mark
from ccgrep.sources.reading import Input, SessionIdentity, SessionReading
from ccgrep.sources.spills import Spills
from ccgrep.store.objects import make_frame

_TEXTS = st.one_of(
    st.sampled_from(
        [
            *("", " ", "yes", "/compact", "/help me", "<bash-input>ls</bash-input>"),
            "<command-name>/clear</command-name>",
            "<system-reminder>x</system-reminder>",
            "[Request interrupted by user]",
            "No response requested.",
            "Warmup",
            "<environment_context>x</environment_context>",
            "This session is being continued from a previous conversation: a\nb",
            "Command running in background with ID: b1. Output: /tmp/claude/x/tasks/b1.output",
            "<persisted-output>gone</persisted-output>",
            '{"output":"x","metadata":{"exit_code":1}}',
        ]
    ),
    st.text(st.characters(codec="utf-8"), max_size=20),
)
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | _TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXTS, inner, max_size=3),
    max_leaves=5,
)
_BLOBS = st.lists(st.just(Blob("image/png", 5, "ab" * 32)), max_size=1).map(tuple)
_RESULTS = st.builds(ToolResult, _TEXTS, st.booleans(), _BLOBS)
_NAMES = st.sampled_from(["Bash", "Edit", "Write", "shell", "apply_patch", "exec", "mcp__a__b", ""])
_CALLS = st.builds(ToolCall, _NAMES, _JSON, st.none() | _RESULTS)
_PARTS = st.one_of(st.builds(Text, _TEXTS), st.builds(Thinking, _TEXTS), _CALLS)
_MESSAGES = st.builds(
    Message, st.lists(_PARTS, max_size=4).map(tuple), st.sampled_from(["", "opus", "gpt-5"])
)
_KINDS = st.sampled_from(
    ["summary", "command", "context", "notification", "interrupted", "error", "machine"]
)
_STEPS = st.one_of(_MESSAGES, st.builds(Note, _KINDS, _TEXTS))
_TURNS = st.builds(Turn, _TEXTS, _BLOBS, st.lists(_STEPS, max_size=5).map(tuple))
_HISTORIES = st.lists(st.tuples(_TURNS, st.booleans()), min_size=1, max_size=5)
_SOURCES: st.SearchStrategy[SourceName] = st.sampled_from(["claude_code", "codex"])
IMAGE = b"GIF89a" + bytes(20)
_ID = "01a1ed0d-d684-7c00-8cdf-82189c2353da"


def write(
    source: SourceName, history: list[tuple[Turn, bool]], origin: str = ""
) -> tuple[list[Entry], bytes]:
    """Return the entries of turns, and their transcript for a client."""
    session = Session(_ID, source, cwd="/home/sam/shop", started=1_790_000_000_000)
    entries = [
        Entry(
            make_frame("turn", turn).id,
            *(0, 0, 1_790_000_000_000 + number, 1_790_000_000_500 + number),
            is_rolled_back=is_rolled_back,
        )
        for number, (turn, is_rolled_back) in enumerate(history)
    ]
    turns = [turn if not origin else translate_turn(turn, source) for turn, _ in history]
    writer = write_claude if source == "claude_code" else write_codex
    return entries, writer(session, entries, turns, lambda blob: IMAGE, origin)


def read(source: SourceName, content: bytes) -> tuple[SessionReading, dict[ObjectId, Turn]]:
    """Return the reading of a transcript, and the turns that were read."""
    found: dict[ObjectId, Turn] = {}

    def sink(turn: Turn) -> ObjectId:
        id = make_frame("turn", turn).id
        found[id] = turn
        return id

    input = Input(BytesIO(content), Mark(0, 0), SessionIdentity(_ID), sink)
    is_claude = source == "claude_code"
    reader: Any = ClaudeReader(input, Spills("x.jsonl")) if is_claude else CodexReader(input)
    (reading,) = reader.read().sessions
    return reading, found


@given(_SOURCES, _HISTORIES, st.booleans())
def test_every_turn_is_recognized(
    source: SourceName, history: list[tuple[Turn, bool]], is_handed_over: bool
) -> None:
    entries, content = write(source, history, "origin" if is_handed_over else "")
    assert write(source, history, "origin" if is_handed_over else "")[1] == content
    reading, found = read(source, content)
    assert [claim for _, claim in reading.claims] == [entry.turn for entry in entries]
    assert [number for number, _ in reading.claims] == list(range(len(entries)))
    assert reading.session.forked_from == ("origin" if is_handed_over else "")
    for (turn, is_rolled_back), entry, before in zip(
        history, reading.entries, entries, strict=True
    ):
        assert find_stored(turn, found[entry.turn], source) == turn
        assert entry.is_rolled_back == is_rolled_back
        assert entry.started == before.started


@given(_SOURCES, _TURNS, _TURNS)
def test_other_turns_are_not_recognized(source: SourceName, turn: Turn, other: Turn) -> None:
    """A turn is recognized in the transcript of another one only if it looks the same there."""
    _, content = write(source, [(turn, False)])
    reading, found = read(source, content)
    prompt = replace(other, prompt=f"{turn.prompt} and more")
    assert find_stored(prompt, found[reading.entries[0].turn], source) is None
    longer = replace(turn, steps=(*turn.steps, Message((Text("the last word"),))))
    assert find_stored(longer, found[reading.entries[0].turn], source) is None


@given(_SOURCES, _TURNS)
def test_what_the_client_adds_to_the_last_turn_is_kept(source: SourceName, turn: Turn) -> None:
    _, content = write(source, [(turn, False)])
    reading, found = read(source, content)
    added = (Message((Text("a late answer"), Text("and another")), "opus"), Note("error", "late"))
    (read_turn,) = (found[entry.turn] for entry in reading.entries)
    grown = replace(read_turn, steps=(*read_turn.steps, *added))
    assert find_stored(turn, grown, source) == replace(turn, steps=(*turn.steps, *added))

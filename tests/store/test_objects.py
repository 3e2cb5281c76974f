"""Objects: `decode` inverts `encode`, and equal values have equal bytes."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from ccgrep.model import Blob, Message, Note, Text, Thinking, ToolCall, ToolResult, Turn
from ccgrep.store.objects import decode, encode, make_frame, object_id, unpack_frame

text = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False)
    | text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=4),
    max_leaves=12,
)
blobs = st.lists(st.builds(Blob, text, st.integers(0, 2**40), text), max_size=2).map(tuple)
results = st.builds(ToolResult, text, st.booleans(), blobs)
calls = st.builds(ToolCall, text, json_values, st.none() | results)
parts = st.lists(st.builds(Text, text) | st.builds(Thinking, text) | calls, max_size=4).map(tuple)
notes = st.builds(Note, st.sampled_from(["summary", "command", "context"]), text)
steps = st.lists(st.builds(Message, parts, text) | notes, max_size=4).map(tuple)
turns = st.builds(Turn, text, blobs, steps)


@given(turns)
def test_decode_inverts_encode(turn: Turn) -> None:
    raw = encode(turn)
    assert decode(raw, Turn) == turn
    assert encode(decode(raw, Turn)) == raw
    assert unpack_frame(make_frame("turn", turn)) == raw


@given(json_values, st.randoms())
def test_order_of_keys_does_not_change_bytes(value: Any, chance: Any) -> None:
    def shuffle(item: Any) -> Any:
        if isinstance(item, dict):
            keys = list(item)
            chance.shuffle(keys)
            return {key: shuffle(item[key]) for key in keys}
        return [shuffle(element) for element in item] if isinstance(item, list) else item

    a, b = (Turn(steps=(Message((ToolCall("x", v),)),)) for v in (value, shuffle(value)))
    assert encode(a) == encode(b)


@given(turns, turns)
def test_different_turns_have_different_ids(a: Turn, b: Turn) -> None:
    same = object_id("turn", encode(a)) == object_id("turn", encode(b))
    assert same == (encode(a) == encode(b))


@given(st.integers(2**64, 2**80) | st.integers(-(2**80), -(2**63) - 1))
def test_numbers_beyond_msgpack_become_text(number: int) -> None:
    turn = Turn(steps=(Message((ToolCall("x", {"n": number}),)),))
    stored = decode(encode(turn), Turn)
    assert [call.input for call in stored.calls()] == [{"n": str(number)}]


def test_too_deep_nesting_is_truncated() -> None:
    deep: Any = "bottom"
    for _ in range(100_000):
        deep = [deep]
    turn = Turn(prompt="kept", steps=(Message((ToolCall("x", deep),)),))
    try:
        assert decode(encode(turn), Turn).prompt == "kept"
    finally:
        while isinstance(deep, list):  # Freed level by level: the interpreter would recurse.
            deep = deep[0]

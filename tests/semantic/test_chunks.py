"""Long texts are cut into spans that the model takes whole and that leave nothing out."""

import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ccgrep.semantic import tokenizer
from ccgrep.semantic.chunks import MAX_CHARS, MAX_SPANS, Span, Splitter
from tests.helpers.models import MODEL, copy_model, model_at, texts

SPLITTER = Splitter(MODEL)
WHOLE = tokenizer.load(MODEL, max_pieces=None)

words = st.text(
    st.one_of(st.characters(), st.sampled_from("abcdefgh  \n\t_./\u0301字한🎉")), max_size=40
)
long_texts = st.lists(words, max_size=40).flatmap(
    lambda some: st.integers(1, 40).map(lambda times: " ".join(some * times))
)


def pieces(text: str) -> int:
    return len(WHOLE.encode(tokenizer.whole(text), add_special_tokens=False).ids)


@settings(max_examples=150, deadline=None)
@given(long_texts)
@example("한국어" * 400)
@example("a" * 5000)
@example("字" * 3000)
@example("word " * 3000)
@example("\x00" * 400)
def test_spans_cover_the_text_and_fit_the_model(text: str) -> None:
    spans = SPLITTER.spans(text)
    if pieces(text) == 0:
        assert not spans or spans == [Span(0, len(text))]
        return
    assert spans[0].start == 0
    assert len(spans) <= MAX_SPANS
    assert spans[-1].end == len(text) or len(spans) == MAX_SPANS
    for before, after in pairwise(spans):
        assert before.start < after.start <= before.end < after.end
    assert max(pieces(text[start:end]) for start, end in spans) <= 254


def test_spans_share_about_an_eighth() -> None:
    text = "word " * 1000
    spans = SPLITTER.spans(text)
    shared = [pieces(text[after.start : before.end]) for before, after in pairwise(spans)]
    assert len(spans) == 5
    assert {31} == set(shared)


def test_words_are_not_cut() -> None:
    text = " ".join(f"word{number}" for number in range(1000))
    assert all(
        text[start:end].startswith("word") and text[end : end + 1] in ("", "w")
        for start, end in SPLITTER.spans(text)
    )


@pytest.mark.parametrize("text", ["", " ", "\n\t \u3000"])
def test_white_space_has_no_spans(text: str) -> None:
    assert SPLITTER.spans(text) == []


def test_a_text_that_fits_is_one_span() -> None:
    for text in texts(200):
        if text.strip() and 0 < pieces(text) <= 254:
            assert [Span(0, len(text))] == SPLITTER.spans(text)


def test_halves_of_characters_keep_their_place() -> None:
    text = "\ud800 word" * 300
    assert SPLITTER.spans("\ufffd word" * 300) == SPLITTER.spans(text)


def test_a_huge_text_is_bounded() -> None:
    begun = time.monotonic()
    spans = SPLITTER.spans("some words " * 5_000_000)
    assert len(spans) == MAX_SPANS
    assert spans[-1].end < MAX_CHARS
    assert [Span(0, MAX_CHARS)] == SPLITTER.spans("x" + " " * 50_000_000 + "x")
    assert time.monotonic() - begun < 20


def test_the_limit_is_the_models_with_room_for_its_prompt(tmp_path: Path) -> None:
    changes: dict[str, Any] = {
        "sentence_bert_config.json": {"max_seq_length": 20},
        "config_sentence_transformers.json": {
            "prompts": {"passage": "passage: "},
            "default_prompt_name": "passage",
        },
    }
    splitter = Splitter(model_at(copy_model(tmp_path / "model", changes)))
    assert splitter.limit == 20 - 2 - 2
    text = "one two three four five six seven eight " * 10
    assert max(pieces(text[start:end]) for start, end in splitter.spans(text)) == splitter.limit

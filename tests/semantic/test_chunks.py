"""Of a long text, the beginning and the end are chunks that fit the model."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ccgrep.semantic import tokenizer
from ccgrep.semantic.chunks import MAX_CHUNK_CHARS, Span, Splitter
from tests.helpers.models import MODEL, copy_model, model_at, texts

SPLITTER = Splitter(MODEL)
TOKENIZER = tokenizer.load(MODEL, max_tokens=None)

words = st.text(
    st.one_of(st.characters(), st.sampled_from("abcdefgh  \n\t_./\u0301字한🎉")), max_size=40
)
long_texts = st.lists(words, max_size=40).flatmap(
    lambda some: st.integers(1, 40).map(lambda times: " ".join(some * times))
)


def count_tokens(text: str) -> int:
    return len(TOKENIZER.encode(tokenizer.replace_surrogates(text), add_special_tokens=False).ids)


@settings(max_examples=150, deadline=None)
@given(long_texts)
@example("한국어" * 400)
@example("a" * 5000)
@example("字" * 3000)
@example("word " * 3000)
@example("\x00" * 400)
def test_chunks_are_the_beginning_and_the_end_and_fit_the_model(text: str) -> None:
    spans = SPLITTER.spans(text)
    if count_tokens(text) == 0:
        assert not spans or spans == [Span(0, len(text))]
        return
    assert (spans[0].start, spans[-1].end) == (0, len(text))
    assert len(spans) == 1 or spans[0].end <= spans[1].start < spans[1].end
    assert max(count_tokens(text[start:end]) for start, end in spans) <= 254
    if len(spans) == 1:
        return
    for start, end in spans:
        is_full = count_tokens(text[start:end]) > 200
        is_long_word = end - start > 200 and " " not in text[start:end].strip()
        assert (
            is_full or is_long_word or end - start > MAX_CHUNK_CHARS - 300 or start == spans[0].end
        )


def test_words_are_not_cut() -> None:
    text = " ".join(f"word{number}" for number in range(1000))
    assert all(
        text[start:end].startswith("word") and text[end : end + 1] in ("", "w")
        for start, end in SPLITTER.spans(text)
    )


@pytest.mark.parametrize("text", ["", " ", "\n\t \u3000"])
def test_blank_text_has_no_chunks(text: str) -> None:
    assert SPLITTER.spans(text) == []


def test_text_that_fits_is_one_chunk() -> None:
    for text in texts(200):
        if text.strip() and 0 < count_tokens(text) <= 254:
            assert [Span(0, len(text))] == SPLITTER.spans(text)


def test_lone_surrogates_do_not_move_chunks() -> None:
    text = "\ud800 word" * 300
    assert SPLITTER.spans("\ufffd word" * 300) == SPLITTER.spans(text)


class CountingTokenizer:
    """Counts the characters that it tokenizes."""

    characters = 0

    def encode(self, text: str, **options: Any) -> Any:
        self.characters += len(text)
        return TOKENIZER.encode(text, **options)


def test_huge_text_is_tokenized_in_part(monkeypatch: pytest.MonkeyPatch) -> None:
    counting = CountingTokenizer()
    monkeypatch.setattr(SPLITTER, "_tokenizer", counting)
    first, last = SPLITTER.spans("some words " * 5_000_000)
    assert (first.start, last.end) == (0, 55_000_000)
    assert counting.characters <= 2 * MAX_CHUNK_CHARS
    gap = "x" + " " * 50_000_000 + "x"
    assert [Span(0, MAX_CHUNK_CHARS), Span(len(gap) - 1, len(gap))] == SPLITTER.spans(gap)


def test_limit_leaves_room_for_special_tokens_and_prompt(tmp_path: Path) -> None:
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
    assert (
        max(count_tokens(text[start:end]) for start, end in splitter.spans(text)) == splitter.limit
    )

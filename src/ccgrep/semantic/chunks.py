"""Choose the chunks of a text that are embedded.

A text that the model's limit allows is one chunk. Of a longer text, the chunks are the beginning
and the end: a prompt may paste a log and then ask. More chunks took six times as long and found no
more (docs/relevance.md). Chunks start and end between words if possible.
"""

from collections.abc import Sequence
from typing import NamedTuple

from ccgrep.semantic import tokenizer
from ccgrep.semantic.model import Model

MAX_CHUNK_CHARS = 8192
_SHORT_CHUNK_CHARS = 400


class Span(NamedTuple):
    """A range of characters, without its end."""

    start: int
    end: int


class _Token(NamedTuple):
    start: int
    starts_word: bool


class Splitter:
    """Cuts texts into chunks by the tokenizer of a model, which has a limit."""

    def __init__(self, model: Model) -> None:
        self._tokenizer = tokenizer.load(model, max_tokens=None)
        special = self._tokenizer.num_special_tokens_to_add(False)
        prompt = len(self._tokenizer.encode(model.settings.prompt, add_special_tokens=False).ids)
        self.limit = max(model.settings.max_tokens - special - prompt, 1)
        """The number of tokens in a chunk, without special tokens and prompt."""

    def spans(self, text: str) -> list[Span]:
        """Return the chunks of a text, an empty list if it is blank."""
        if not text or text.isspace():
            return []
        if len(text) <= self.limit and text.isascii():
            return [Span(0, len(text))]  # An ASCII token has at least one character.
        tokens = self._tokens(text[:MAX_CHUNK_CHARS], 0)
        end = _chunk_end(tokens, 0, self.limit)
        if end == len(tokens) and len(text) <= MAX_CHUNK_CHARS:
            return [Span(0, len(text))]
        first = Span(0, tokens[end].start if end < len(tokens) else MAX_CHUNK_CHARS)
        return [first, Span(self._last_start(text, first.end), len(text))]

    def _last_start(self, text: str, least: int) -> int:
        """Return where the last chunk starts, at `least` or after it."""
        begin = max(least, len(text) - MAX_CHUNK_CHARS)
        tokens = self._tokens(text[begin:], begin)
        low = max(len(tokens) - self.limit, 0)
        word_starts = (at for at in range(low, len(tokens)) if tokens[at].starts_word)
        at = next(word_starts, low)
        return tokens[at].start if tokens else begin

    def _tokens(self, text: str, offset: int) -> list[_Token]:
        """Return the tokens of a part of a text that begins at `offset`."""
        encoding = self._tokenizer.encode(
            tokenizer.replace_surrogates(text), add_special_tokens=False
        )
        words = [None, *encoding.word_ids]
        return [
            _Token(offset + start, word != before)
            for (start, _), word, before in zip(encoding.offsets, words[1:], words, strict=False)
        ]


class CharacterSplitter:
    """Cuts texts into short chunks, for a model without a limit that sums over all of a text."""

    def spans(self, text: str) -> list[Span]:
        """Return the chunks of a text, an empty list if it is blank."""
        if not text or text.isspace():
            return []
        if len(text) <= _SHORT_CHUNK_CHARS:
            return [Span(0, len(text))]
        return [Span(0, _SHORT_CHUNK_CHARS), Span(len(text) - _SHORT_CHUNK_CHARS, len(text))]


AnySplitter = Splitter | CharacterSplitter


def _chunk_end(tokens: Sequence[_Token], first: int, limit: int) -> int:
    """Return the token that ends a chunk: one that starts a word, or else a character."""
    high = first + limit
    if high >= len(tokens):
        return len(tokens)
    for at in range(high, first, -1):
        if tokens[at].starts_word:
            return at
    for at in range(high, first, -1):
        if tokens[at].start > tokens[at - 1].start:
            return at
    while high < len(tokens) and tokens[high].start == tokens[high - 1].start:
        high += 1  # A single character has more tokens than the limit.
    return high

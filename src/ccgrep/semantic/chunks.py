"""Cut a long text into chunks that the model's limit allows, by the model's own tokenizer.

Chunks start and end between words if possible. Each shares about an eighth with the one before, so
that text at a cut is whole in one of them. They cover the text up to `MAX_CHUNKS` chunks or
`MAX_CHARS` characters, which bounds the cost of a huge paste.
"""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from ccgrep.semantic import tokenizer
from ccgrep.semantic.model import Model

MAX_CHUNKS = 64
MAX_CHARS = 1_000_000
_BLOCK_CHARS = 32_768


class Span(NamedTuple):
    """A range of characters, without its end."""

    start: int
    end: int


class _Token(NamedTuple):
    start: int
    starts_word: bool


class Splitter:
    """Cuts texts into chunks for one model."""

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
        return list(self._cut(text[:MAX_CHARS]))

    def _cut(self, text: str) -> Iterator[Span]:
        tokens = list(islice(self._tokens(text), MAX_CHUNKS * self.limit + 1))
        first = start = 0
        for _ in range(MAX_CHUNKS if tokens else 0):
            end = _chunk_end(tokens, first, self.limit)
            is_last = end == len(tokens)
            yield Span(start, len(text) if is_last else tokens[end].start)
            if is_last:
                return
            low = max(first + 1, end - self.limit // 8)
            first = next(at for at in range(low, end + 1) if at == end or tokens[at].starts_word)
            start = tokens[first].start

    def _tokens(self, text: str) -> Iterator[_Token]:
        """Tokenize one block at a time, so that unused text is not tokenized."""
        block = 0
        while block < len(text):
            end = _block_end(text, block)
            encoding = self._tokenizer.encode(
                tokenizer.replace_surrogates(text[block:end]), add_special_tokens=False
            )
            before: int | None = None
            for (start, _), word in zip(encoding.offsets, encoding.word_ids, strict=True):
                yield _Token(block + start, word != before)
                before = word
            block = end


def _block_end(text: str, start: int) -> int:
    """Return the end of a block: after white space, if its second half has any."""
    end = start + _BLOCK_CHARS
    if end >= len(text):
        return len(text)
    half = start + _BLOCK_CHARS // 2
    return next((at for at in range(end, half, -1) if text[at - 1].isspace()), end)


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

"""Where is a text cut when it is longer than the model takes? By the model's own tokenizer.

Spans begin and end between words where they can, and share about an eighth with the one before,
so that what stands at a cut is whole in one of them. Together they cover the text up to
`MAX_SPANS` spans or `MAX_CHARS` characters, whichever comes first: a huge paste stays bounded.
"""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from ccgrep.semantic import tokenizer
from ccgrep.semantic.model import Model

MAX_SPANS = 64
MAX_CHARS = 1_000_000
_BLOCK_CHARS = 32_768


class Span(NamedTuple):
    """Characters of a text, the end not among them."""

    start: int
    end: int


class _Piece(NamedTuple):
    start: int
    is_word: bool
    """Whether a word begins with it."""


class Splitter:
    """Cuts texts into spans that the model takes whole."""

    def __init__(self, model: Model) -> None:
        self._tokenizer = tokenizer.load(model, max_pieces=None)
        marks = self._tokenizer.num_special_tokens_to_add(False)
        prompt = len(self._tokenizer.encode(model.settings.prompt, add_special_tokens=False).ids)
        self.limit = max(model.settings.max_pieces - marks - prompt, 1)
        """Word pieces in a span, without the marks at both ends."""

    def spans(self, text: str) -> list[Span]:
        """The spans of a text, in order; none of a text that is only white space."""
        if not text or text.isspace():
            return []
        if len(text) <= self.limit and text.isascii():
            return [Span(0, len(text))]  # a piece is at least one such character
        return list(self._cut(text[:MAX_CHARS]))

    def _cut(self, text: str) -> Iterator[Span]:
        pieces = list(islice(self._pieces(text), MAX_SPANS * self.limit + 1))
        first = start = 0
        for _ in range(MAX_SPANS if pieces else 0):
            last = _last(pieces, first, self.limit)
            is_end = last == len(pieces)
            yield Span(start, len(text) if is_end else pieces[last].start)
            if is_end:
                return
            low = max(first + 1, last - self.limit // 8)
            first = next(at for at in range(low, last + 1) if at == last or pieces[at].is_word)
            start = pieces[first].start

    def _pieces(self, text: str) -> Iterator[_Piece]:
        """A block after the other, so that no more is taken apart than is needed."""
        block = 0
        while block < len(text):
            end = _block_end(text, block)
            found = self._tokenizer.encode(
                tokenizer.whole(text[block:end]), add_special_tokens=False
            )
            before: int | None = None
            for (start, _), word in zip(found.offsets, found.word_ids, strict=True):
                yield _Piece(block + start, word != before)
                before = word
            block = end


def _block_end(text: str, start: int) -> int:
    """The end of the block: behind white space, if its second half has any."""
    end = start + _BLOCK_CHARS
    if end >= len(text):
        return len(text)
    half = start + _BLOCK_CHARS // 2
    return next((at for at in range(end, half, -1) if text[at - 1].isspace()), end)


def _last(pieces: Sequence[_Piece], first: int, limit: int) -> int:
    """The piece that a span from `first` ends before: where a word begins, or else a character."""
    high = first + limit
    if high >= len(pieces):
        return len(pieces)
    for at in range(high, first, -1):
        if pieces[at].is_word:
            return at
    for at in range(high, first, -1):
        if pieces[at].start > pieces[at - 1].start:
            return at
    while high < len(pieces) and pieces[high].start == pieces[high - 1].start:
        high += 1  # one character alone has more pieces than a span may
    return high

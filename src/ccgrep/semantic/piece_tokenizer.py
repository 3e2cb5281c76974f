"""Split texts into the pieces of a SentencePiece unigram vocabulary, by the tokenizers library.

Loading all 128,000 pieces takes that library half a second. A query can only contain pieces that
are substrings of it, so a short text loads no others, with the same result
(`tests/semantic/test_multilingual.py`). The sorted pieces stay in the mapped file.
"""

from bisect import bisect_left
from collections.abc import Sequence
from typing import TYPE_CHECKING, overload

import numpy as np

from ccgrep.errors import MissingModelError
from ccgrep.semantic.model import INSTALL
from ccgrep.semantic.safetensors import Tensors
from ccgrep.semantic.tokenizer import replace_surrogates

if TYPE_CHECKING:
    from tokenizers import Tokenizer
    from tokenizers.normalizers import Normalizer

UNKNOWN, BEGIN, END = range(3)
"""The ids of an unknown piece, of the begin and of the end of a text."""

_SPACE = "\u2581"
_UNKNOWN_PIECE = "\0"
_MAX_PIECE_CHARS = 16
_MAX_SHORT_CHARS = 2000
"""Up to this total length, looking for the pieces of texts is faster than loading all pieces."""


class Pieces(Sequence[str]):
    """The vocabulary without special pieces, sorted."""

    def __init__(self, tensors: Tensors) -> None:
        self._starts = tensors.get("piece_starts", -1, kind="I32")
        count = len(self._starts) - 1
        self._bytes = tensors.get("pieces", -1, kind="U8")
        self.ids = tensors.get("piece_ids", count, kind="I32")
        self.scores = tensors.get("piece_scores", count)

    def __len__(self) -> int:
        return len(self.ids)

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> list[str]: ...
    def __getitem__(self, at: int | slice) -> str | list[str]:
        if isinstance(at, slice):
            return [self[number] for number in range(*at.indices(len(self)))]
        return self._bytes[self._starts[at] : self._starts[at + 1]].tobytes().decode()

    def inside(self, text: str) -> list[int]:
        """Return the positions of the pieces that a text contains."""
        found: set[int] = set()
        for start in range(len(text)):
            for end in range(start + 1, min(start + _MAX_PIECE_CHARS, len(text)) + 1):
                at = bisect_left(self, text[start:end])
                piece = self[at] if at < len(self) else ""
                if piece == text[start:end]:
                    found.add(at)
                elif not piece.startswith(text[start:end]):
                    break
        return sorted(found)


class PieceTokenizer:
    def __init__(self, tensors: Tensors) -> None:
        self._pieces = Pieces(tensors)
        self._charsmap = tensors.get("charsmap", -1, kind="U8").tobytes()
        self._whole: _Vocabulary | None = None

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the ids of each text's pieces, between those of begin and end."""
        valid = [replace_surrogates(text) for text in texts]
        vocabulary = self._choose_vocabulary(valid)
        return [[BEGIN, *ids, END] for ids in vocabulary.encode(valid)]

    def _choose_vocabulary(self, texts: Sequence[str]) -> "_Vocabulary":
        """Return all pieces, or for short texts those that occur in them."""
        if self._whole is None and sum(map(len, texts)) <= _MAX_SHORT_CHARS:
            normalizer = _make_normalizer(self._charsmap)
            joined = _SPACE.join(["", *map(normalizer.normalize_str, texts)])
            return _Vocabulary(
                self._pieces, self._charsmap, self._pieces.inside(joined.replace(" ", _SPACE))
            )
        if self._whole is None:
            self._whole = _Vocabulary(self._pieces, self._charsmap, range(len(self._pieces)))
        return self._whole


class _Vocabulary:
    """A tokenizer that knows some of the pieces."""

    def __init__(self, pieces: Pieces, charsmap: bytes, positions: Sequence[int]) -> None:
        # An unknown piece scores 10 less than the worst one, so the worst is always among them.
        chosen = np.array(sorted({*positions, int(np.argmin(pieces.scores))}))
        scores = pieces.scores[chosen].tolist()
        self._ids = np.concatenate([[UNKNOWN], pieces.ids[chosen]])
        scored = zip((pieces[at] for at in chosen.tolist()), scores, strict=True)
        self._tokenizer = _make_tokenizer([(_UNKNOWN_PIECE, 0.0), *scored], charsmap)

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        if len(texts) == 1:  # encode_batch would start threads
            return [self._ids[self._tokenizer.encode(texts[0]).ids].tolist()]
        found = self._tokenizer.encode_batch_fast(list(texts))
        return [self._ids[encoding.ids].tolist() for encoding in found]


def _make_tokenizer(scored: list[tuple[str, float]], charsmap: bytes) -> "Tokenizer":
    from tokenizers import Tokenizer, models, pre_tokenizers  # noqa: PLC0415 - heavy

    tokenizer = Tokenizer(models.Unigram(scored, unk_id=0))
    tokenizer.normalizer = _make_normalizer(charsmap)
    # No piece has a space after its start, so words are split independently of each other.
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(_SPACE, prepend_scheme="always", split=True)
    return tokenizer


def _make_normalizer(charsmap: bytes) -> "Normalizer":
    try:
        from tokenizers import Regex, normalizers  # noqa: PLC0415 - heavy
    except ImportError as error:
        raise MissingModelError(f"semantic search needs tokenizers: {INSTALL}") from error
    return normalizers.Sequence(
        [
            normalizers.Precompiled(charsmap),
            normalizers.Strip(),
            normalizers.Replace(Regex(" {2,}"), " "),
        ]
    )

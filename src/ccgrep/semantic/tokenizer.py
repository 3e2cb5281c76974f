"""How does a model take a text apart? Its own tokenizer, as its own libraries set it up.

The only module that knows the `tokenizers` library, which is imported when one is loaded.
"""

import re
from typing import TYPE_CHECKING

from ccgrep.errors import DamagedModelError, MissingModelError
from ccgrep.semantic.model import INSTALL, Model
from ccgrep.text import one_line

if TYPE_CHECKING:
    from tokenizers import Tokenizer

_SURROGATE = "[\ud800-\udfff]"


def load(model: Model, max_pieces: int | None) -> "Tokenizer":
    """The tokenizer of a model, which cuts at `max_pieces`, or not at all."""
    try:
        from tokenizers import Tokenizer, normalizers  # noqa: PLC0415 - heavy
    except ImportError as error:
        raise MissingModelError(f"searching by meaning needs tokenizers: {INSTALL}") from error
    try:
        tokenizer = Tokenizer.from_file(model.tokenizer_path)
    except Exception as error:  # the library raises nothing narrower
        raise DamagedModelError(
            f"{one_line(model.tokenizer_path)} is damaged: install the model again, "
            "or give another one"
        ) from error
    tokenizer.no_padding()
    tokenizer.no_truncation()
    if max_pieces is not None:
        tokenizer.enable_truncation(max_pieces)
    found, wanted = tokenizer.normalizer, model.settings.normaliser
    if wanted and isinstance(found, normalizers.BertNormalizer):
        found = tokenizer.normalizer = normalizers.BertNormalizer(
            clean_text=found.clean_text,
            handle_chinese_chars=wanted.splits_chinese,
            strip_accents=wanted.strips_accents,
            lowercase=wanted.is_lower_case,
        )
    if model.settings.is_lower_case:
        lower: list[normalizers.Normalizer] = [normalizers.Lowercase()]
        tokenizer.normalizer = normalizers.Sequence(lower + ([found] if found else []))
    return tokenizer


def whole(text: str) -> str:
    """`text` of the same length without halves of characters, which no tokenizer takes."""
    return text if text.isascii() else re.sub(_SURROGATE, "\ufffd", text)

"""Load a model's tokenizer, configured as the model's own libraries do.

Only this module and `piece_tokenizer` use the `tokenizers` library, and import it when needed.
"""

import re
from typing import TYPE_CHECKING

from ccgrep.errors import DamagedModelError, MissingModelError
from ccgrep.semantic.model import INSTALL, Model
from ccgrep.semantic.model_settings import REINSTALL
from ccgrep.text import one_line

if TYPE_CHECKING:
    from tokenizers import Tokenizer

_SURROGATE = "[\ud800-\udfff]"


def load(model: Model, max_tokens: int | None) -> "Tokenizer":
    """Return the tokenizer of a model. It truncates texts to `max_tokens`, or not at all."""
    try:
        from tokenizers import Tokenizer, normalizers  # noqa: PLC0415 - heavy
    except ImportError as error:
        raise MissingModelError(f"semantic search needs tokenizers: {INSTALL}") from error
    try:
        tokenizer = Tokenizer.from_file(model.tokenizer_path)
    except Exception as error:  # the library raises nothing narrower
        raise DamagedModelError(
            f"{one_line(model.tokenizer_path)} is damaged: {REINSTALL}"
        ) from error
    tokenizer.no_padding()
    tokenizer.no_truncation()
    if max_tokens is not None:
        tokenizer.enable_truncation(max_tokens)
    normalizer, configured = tokenizer.normalizer, model.settings.normaliser
    if configured and isinstance(normalizer, normalizers.BertNormalizer):
        normalizer = tokenizer.normalizer = normalizers.BertNormalizer(
            clean_text=normalizer.clean_text,
            handle_chinese_chars=configured.splits_chinese,
            strip_accents=configured.strips_accents,
            lowercase=configured.is_lower_case,
        )
    if model.settings.is_lower_case:
        lower: list[normalizers.Normalizer] = [normalizers.Lowercase()]
        tokenizer.normalizer = normalizers.Sequence(lower + ([normalizer] if normalizer else []))
    return tokenizer


def replace_surrogates(text: str) -> str:
    """Return `text` without lone surrogates, which no tokenizer accepts, in the same length."""
    return text if text.isascii() else re.sub(_SURROGATE, "\ufffd", text)

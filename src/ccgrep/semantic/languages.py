"""Tell whether a store or a query needs the multilingual model: whether it is not all English.

The full-text index knows how many turns have a word. Words such as `und` and `的` occur in most
texts of their language and hardly in English ones.
"""

import unicodedata

from ccgrep.fulltext.reader import TextReader

_FUNCTION_WORDS = (
    "的 了 是 不 我 の を に は です 이 는 을 다 하 и не на что und nicht ist wir les est pas avec "
    "los para una esta nao uma isso che della sono nie sie bir icin niet een het في من على"
).split()
_MIN_WORDS = 2  # in a turn: one of them may be a name
_MIN_SHARE = 0.01


def has_other_languages(reader: TextReader) -> bool:
    """Return whether at least 1 % of the turns are in a language other than English."""
    terms = [reader.term("said", stem) for word in _FUNCTION_WORDS for stem in reader.stems(word)]
    found = reader.count(reader.any_of(terms, _MIN_WORDS))
    return found > 0 and found >= _MIN_SHARE * reader.document_count()


def is_english(text: str) -> bool:
    """Return whether a query has only Latin letters, and no function word of another language."""
    if not text.isascii() and any(char.isalpha() and not _is_latin(char) for char in text):
        return False
    return not set(text.lower().split()) & set(_FUNCTION_WORDS)


def _is_latin(char: str) -> bool:
    return unicodedata.name(char, "").startswith("LATIN")

"""Split text where the index cannot: camelCase, accents and CJK. Pure.

The index splits at everything that is no letter or digit, lowers case and stems. So `auth_token`,
`src/auth.ts` and `--no-verify` become words, and a phrase of them finds the whole. This module adds
the parts of `camelCase` words and folds accents. Every Chinese, Japanese or Korean character
becomes a word, and so does every pair of neighbours. `expand` applies it to indexed text.
"""

from __future__ import annotations

from ccgrep.lazy_re import compile_pattern

# Letters only: the index ignores radicals and the dots between words.
_CJK_RANGES = (
    ("\u3005", "\u3007"),
    ("\u3041", "\u3096"),
    ("\u309d", "\u309f"),
    ("\u30a1", "\u30fa"),
    ("\u30fc", "\u30ff"),
    ("\u31f0", "\u31ff"),
    ("\u3400", "\u4dbf"),
    ("\u4e00", "\u9fff"),
    ("\uac00", "\ud7a3"),
    ("\uf900", "\ufaff"),
    ("\U00020000", "\U0003ffff"),
)
_CJK = f"[{''.join(f'{first}-{last}' for first, last in _CJK_RANGES)}]+"
_PARTS = r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+"
_ACCENTS = frozenset(map(chr, range(0x300, 0x370)))
_NO_ACCENTS: dict[int, None] = dict.fromkeys(map(ord, _ACCENTS))
_ASCII = bytes(range(128))
_MAX_REPLACED = 32
_MAX_CACHED = 4096
_MAX_CAMEL_CHARS = 64  # longer words are hashes, whose parts mean nothing
MAX_WORD_CHARS = 256
"""Runs of letters and digits of this length or more are data, not words."""
ANSWER_MARK = "¼"
"""The word between a prompt and its answer. Queries are folded, so none of them matches it."""


def discussion_text(prompt: str, answer: str) -> str:
    """Return the indexed text of a discussion: a word before the mark is of the prompt."""
    if not prompt and not answer:
        return ""
    prompt, answer = prompt.replace(ANSWER_MARK, " "), answer.replace(ANSWER_MARK, " ")
    return f"{prompt}\n{ANSWER_MARK}\n{answer}"


def fold(text: str) -> str:
    """Return `text` without accents and compatibility forms."""
    if text.isascii():
        return text
    folded = fold_characters(text)
    return fold_string(text) if folded is None else folded


def fold_string(text: str) -> str:
    from unicodedata import normalize  # noqa: PLC0415 - not for plain text

    decomposed = normalize("NFKD", text)
    if not _ACCENTS.isdisjoint(decomposed):  # Looking for them takes a third of translating.
        decomposed = decomposed.translate(_NO_ACCENTS)
    return normalize("NFKC", decomposed)


def fold_characters(text: str) -> str | None:
    """Fold `text` by replacing single characters, or return None if that is not possible.

    It is not for CJK, for characters that combine with their neighbours, and for too many different
    ones. Most texts have a few accents and dashes: replacing those takes a tenth of the time.
    """
    beyond = text.encode("utf-8", "surrogatepass").translate(None, _ASCII)
    characters = set(beyond.decode("utf-8", "surrogatepass"))
    if len(characters) > _MAX_REPLACED:
        return None
    for character in sorted(characters):
        folded = _fold_character(character)
        if folded is None:
            return None
        if folded != character:
            text = text.replace(character, folded)
    return text


def reveal_ascii(text: str) -> str:
    """Fold the characters of which folding makes visible ASCII, and remove accents.

    The ASCII of the result is that of the folded text. Folding all characters takes much longer.
    """
    if text.isascii():
        return text
    beyond = text.encode("utf-8", "surrogatepass").translate(None, _ASCII)
    characters = set(beyond.decode("utf-8", "surrogatepass")) - _hides_nothing
    hidden = {char: ascii for char in characters if (ascii := _hidden_ascii(char)) is not None}
    if len(hidden) > _MAX_REPLACED:
        return text.translate({ord(character): ascii for character, ascii in hidden.items()})
    for character, ascii in hidden.items():
        text = text.replace(character, ascii)
    return text


def _hidden_ascii(character: str) -> str | None:
    """Return what folding makes of a character, if that is visible ASCII or nothing."""
    if character not in _hidden:
        folded = fold_string(character)
        if folded and not any("!" <= one <= "~" for one in folded):
            if len(_hides_nothing) < _MAX_CACHED:
                _hides_nothing.add(character)
            return None
        if len(_hidden) == _MAX_CACHED:
            _hidden.clear()
        _hidden[character] = folded
    return _hidden[character]


_hidden: dict[str, str] = {}
_hides_nothing: set[str] = set()
_folded: dict[str, str | None] = {}


def _fold_character(character: str) -> str | None:
    """Fold a character, or return None for CJK and if the result depends on its neighbours."""
    if character not in _folded:
        if len(_folded) == _MAX_CACHED:
            _folded.clear()
        folded = fold_string(character)
        is_independent = not any(map(_is_combining_or_cjk, character + folded))
        _folded[character] = folded if is_independent else None
    return _folded[character]


def _is_combining_or_cjk(character: str) -> bool:
    from unicodedata import category  # noqa: PLC0415 - not for plain text

    return category(character)[0] in "MC" or "\u1100" <= character <= "\u11ff" or _is_cjk(character)


def _is_cjk(character: str) -> bool:
    return any(first <= character <= last for first, last in _CJK_RANGES)


def camel_parts(word: str) -> list[str]:
    """Return the parts of a word in camelCase or with digits, an empty list for other words."""
    is_plain = word.isascii() and word.isalpha() and word.islower()
    if is_plain or len(word) > _MAX_CAMEL_CHARS:
        return []
    parts = compile_pattern(_PARTS).findall(word)
    return parts if len(parts) > 1 else []


def camel_starts(word: str) -> list[int]:
    """Return where the parts of a word start, as `camel_parts` splits it.

    It is for a few words of a hit: regular expressions take longer to import.
    """
    starts = [0]
    is_plain = word.isalpha() and word[1:].islower()
    if is_plain or not word.isascii() or len(word) > _MAX_CAMEL_CHARS:
        return starts
    for at in range(1, len(word)):
        before, char = word[at - 1], word[at]
        if (
            before.isdigit() != char.isdigit()
            or (before.islower() and char.isupper())
            or (before.isupper() and char.isupper() and word[at + 1 : at + 2].islower())
        ):
            starts.append(at)
    return starts


def cjk_runs(text: str) -> list[str]:
    return [] if text.isascii() else compile_pattern(_CJK).findall(text)


def blank_cjk(text: str) -> str:
    """Return `text` with blanks in place of CJK: all offsets stay the same."""
    if text.isascii():
        return text
    beyond = text.encode("utf-8", "surrogatepass").translate(None, _ASCII)
    blanks = {ord(c): " " for c in set(beyond.decode("utf-8", "surrogatepass")) if _is_cjk(c)}
    return text.translate(blanks) if blanks else text


def remove_cjk(text: str) -> str:
    return text if text.isascii() else compile_pattern(_CJK).sub(" ", text)


def cjk_words(run: str) -> list[str]:
    """Return every character of a run, and every pair of neighbours."""
    return [*run, *map(str.__add__, run, run[1:])]


def trigram_text(text: str) -> str:
    """Return `text` as its trigrams are indexed: a substring of it becomes a substring.

    Every character that `(?i)` equates with an ASCII letter becomes that letter. `lower()` does so
    for the Kelvin sign, but not for the long s.
    """
    lower = text.lower()
    return lower if lower.isascii() else lower.replace("ς", "σ").replace("ſ", "s")

"""What the index cannot do when it takes a text apart into words. Pure.

It splits at everything that is no letter or digit, folds case and stems; so `auth_token`,
`src/auth.ts` and `--no-verify` become their parts, and are found whole as a phrase of them. Here
are the parts of `camelCase` words, accents, and Chinese, Japanese and Korean, of which every
character and every pair of neighbours becomes a word. `expand` does that to what is indexed.
"""

from __future__ import annotations

from ccgrep.lazy_re import compile_pattern

# Letters alone: radicals and the dots between words are signs, which the index does not take.
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
_ACCENTS: dict[int, None] = dict.fromkeys(range(0x300, 0x370))
_ASCII = bytes(range(128))
_FEW_CHARACTERS = 32
_MAX_KNOWN = 4096
_MAX_CAMEL_CHARS = 64  # longer ones are hashes, whose parts mean nothing
MAX_WORD_CHARS = 256
"""Runs of letters and digits as long as this, or longer, are not words but data."""
ANSWER = "¼"
"""The word between a prompt and its answer. What is looked for is folded: nobody finds it."""


def said_text(prompt: str, answer: str) -> str:
    """What is indexed of a discussion: the position of a word tells who said it."""
    if not prompt and not answer:
        return ""
    return f"{prompt.replace(ANSWER, ' ')}\n{ANSWER}\n{answer.replace(ANSWER, ' ')}"


def fold(text: str) -> str:
    """`text` without accents and compatibility forms."""
    if text.isascii():
        return text
    alone = folded_alone(text)
    return folded_whole(text) if alone is None else alone


def folded_whole(text: str) -> str:
    from unicodedata import normalize  # noqa: PLC0415 - not for plain text

    return normalize("NFKC", normalize("NFKD", text).translate(_ACCENTS))


def folded_alone(text: str) -> str | None:
    """`text`, folded by one character after the other; nothing where that will not do, or where
    there are words of CJK in it.

    Most texts have but a few different accents and dashes. To find them by what encodes them, and
    replace each, takes a tenth of the time of looking at every character.
    """
    beyond = text.encode("utf-8", "surrogatepass").translate(None, _ASCII)
    characters = set(beyond.decode("utf-8", "surrogatepass"))
    if len(characters) > _FEW_CHARACTERS:
        return None
    for character in sorted(characters):
        folded = _alone(character)
        if folded is None:
            return None
        if folded != character:
            text = text.replace(character, folded)
    return text


_known_alone: dict[str, str | None] = {}


def _alone(character: str) -> str | None:
    """What a character is folded to, whatever stands beside it; nothing for CJK, for marks, and for
    what is composed with its neighbours."""
    if character not in _known_alone:
        if len(_known_alone) == _MAX_KNOWN:
            _known_alone.clear()
        folded = folded_whole(character)
        is_alone = not any(map(_is_joined, character + folded))
        _known_alone[character] = folded if is_alone else None
    return _known_alone[character]


def _is_joined(character: str) -> bool:
    from unicodedata import category  # noqa: PLC0415 - not for plain text

    return (
        category(character)[0] in "MC"
        or "\u1100" <= character <= "\u11ff"
        or any(first <= character <= last for first, last in _CJK_RANGES)
    )


def camel_parts(word: str) -> list[str]:
    """The parts of a word in camelCase or with digits in it; none of any other word."""
    is_plain = word.isascii() and word.isalpha() and word.islower()
    if is_plain or len(word) > _MAX_CAMEL_CHARS:
        return []
    parts = compile_pattern(_PARTS).findall(word)
    return parts if len(parts) > 1 else []


def cjk_runs(text: str) -> list[str]:
    return [] if text.isascii() else compile_pattern(_CJK).findall(text)


def without_cjk(text: str) -> str:
    return text if text.isascii() else compile_pattern(_CJK).sub(" ", text)


def cjk_words(run: str) -> list[str]:
    """Every character of a run, and every pair of neighbours."""
    return [*run, *(run[i : i + 2] for i in range(len(run) - 1))]


def gram_text(text: str) -> str:
    """`text` as its trigrams are taken: a piece of text gives a piece of the result.

    Case is folded one character at a time, and so that whatever `(?i)` equates with an ASCII
    letter becomes that letter: the Kelvin sign is lowered to k, the long s is not.
    """
    lower = text.lower()
    return lower if lower.isascii() else lower.replace("ς", "σ").replace("ſ", "s")

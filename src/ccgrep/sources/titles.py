"""Makes the titles of sessions: one line, without Markdown and tags."""

from collections.abc import Iterable

from ccgrep.lazy_re import compile_pattern
from ccgrep.markup import strip_markup

MAX_TITLE_CHARS = 400
_MIN_SENTENCE_CHARS = 12
"""A greeting such as "Hi!" is no title."""
# A `<` after a letter is a comparison or a type such as `Vec<u8>`.
_TAG = r"(?<!\w)<[a-z][\w-]*(?:\s[^<>]*)?/?>|</[a-z][\w-]*>"
_LINE_MARKER = r"(?m)^[ \t]*(?:>|[-*+])[ \t]+"
_SENTENCE_END = r"[.!?…](?=\s)|[。！？]"


def choose_title(given: Iterable[str], prompt: str) -> tuple[str, bool]:
    """Return the first title that is not empty, and whether a client or person gave it.

    Otherwise the title is the first sentence of the prompt. A slug such as `mossy-dreaming-panda`
    is no title: the client made it up.
    """
    title = next(filter(None, map(clean_title, given)), "")
    return title or take_sentence(prompt), bool(title)


def clean_title(text: str) -> str:
    """Return `text` as one line without Markdown and tags."""
    return " ".join(_strip_markup(text[:MAX_TITLE_CHARS]).split())


def take_sentence(text: str) -> str:
    """Return the first sentence of `text`, which ends at the latest with its line."""
    lines = _strip_markup(text.lstrip()[:MAX_TITLE_CHARS]).splitlines()
    line = next((" ".join(line.split()) for line in lines if line.strip()), "")
    end = compile_pattern(_SENTENCE_END).search(line, _MIN_SENTENCE_CHARS)
    return line[: end.end()] if end else line


def _strip_markup(text: str) -> str:
    if "<" in text:
        text = compile_pattern(_TAG).sub(" ", text)
    return compile_pattern(_LINE_MARKER).sub("", strip_markup(text))

"""Exact patterns: what matches, and which literals every match contains. Pure.

RE2 matches patterns in UTF-8, line by line as grep does. A single literal needs no RE2.
The plan holds the literals that every match contains. It leaves out what it does not understand, so
it may admit texts without a match, but it never rules out one with a match.
"""

from __future__ import annotations

from itertools import islice

from ccgrep.errors import UsageError
from ccgrep.fulltext.terms import MAX_WORD_CHARS, trigram_text
from ccgrep.lazy_re import compile_pattern
from ccgrep.light_typing import TYPE_CHECKING, NamedTuple
from ccgrep.text import clip, find_all, one_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any, Literal

MAX_PATTERN_CHARS = 4096
_MAX_COUNT = 1000
_WORD = r"\pL\pN_"
_COUNT = r"\{(\d+)(?:,\d*)?\}"
_CLASS = r"(?s)\[\^?\]?(?:\[:\^?\w+:\]|\\.|[^\]\\])*\]"
_GROUP = r"\((?:\?:|\?P?<\w+>)?"
_QUOTED = r"(?s)((?<!\\)(?:\\\\)*)\\Q(.*?)(?:\\E|$)"
_INNER_WORD = r"(?<=[^A-Za-z0-9])[A-Za-z0-9]+(?=[^A-Za-z0-9])"
_MIN_EDGE_CHARS = 3
_FOLDED_FROM_UNICODE = frozenset("sSkK")


class Plan(NamedTuple):
    """Literals and plans, of which a match contains all or at least one."""

    kind: Literal["all", "any"]
    parts: tuple[Plan | str, ...]


class Matcher:
    """Finds the matches of one or more alternative patterns in UTF-8 text.

    `literal` is the pattern if it is a single text whose case counts, else empty.
    """

    def __init__(
        self, patterns: Sequence[str], is_literal: bool, ignore_case: bool, whole_word: bool
    ) -> None:
        lines = [line for pattern in patterns for line in pattern.split("\n")]
        if sum(len(line) for line in lines) > MAX_PATTERN_CHARS:
            raise UsageError(
                f"the pattern is longer than {MAX_PATTERN_CHARS} characters: shorten it"
            )
        # Each pattern is compiled on its own, so that an error names the wrong one.
        alone = [] if is_literal else [_compile(line, ignore_case) for line in lines]
        if not is_literal:
            lines = [_expand_quotations(line) for line in lines]
        plans = [line if is_literal else _make_plan(line) for line in lines]
        self.plan = _any_of(plans)
        self.ignore_case = ignore_case
        is_plain = is_literal and len(lines) == 1 and not (ignore_case or whole_word)
        self.literal = lines[0].encode() if is_plain else b""
        self._group = 1 if whole_word else 0
        self._regexp: Any = alone[0] if alone else None
        if not self.literal and (len(alone) != 1 or whole_word):
            self._regexp = _compile_alternatives(lines, is_literal, ignore_case, whole_word)

    def count(self, data: bytes) -> int:
        """Return the number of matches; a text with only empty matches has one."""
        if self.literal:
            return min(data.count(self.literal), _MAX_COUNT)
        number = len(list(islice(self.spans(data), _MAX_COUNT)))
        return number or int(self._regexp.search(data) is not None)

    def spans(self, data: bytes) -> Iterator[tuple[int, int]]:
        """Return the byte ranges of the matches that are not empty, from left to right."""
        if self.literal:
            yield from find_all(self.literal, data)
            return
        at = 0
        while at <= len(data) and (match := self._regexp.search(data, at)) is not None:
            start, end = match.span(self._group)
            if end > start:
                yield start, end
            at = max(end, at + 1)  # No match starts inside a character.


def _compile_alternatives(
    lines: Sequence[str], is_literal: bool, ignore_case: bool, whole_word: bool
) -> Any:
    """Compile the alternatives as one pattern; for whole words, its first group is the match."""
    joined = "|".join(f"(?:{_escape(line) if is_literal else line})" for line in lines)
    if whole_word:
        joined = f"(?:^|[^{_WORD}])({joined})(?:[^{_WORD}]|$)"
    return _compile(joined, ignore_case)


def _escape(literal: str) -> str:
    import re2  # noqa: PLC0415 - not for one literal

    return str(re2.escape(literal))


def _expand_quotations(pattern: str) -> str:
    """Replace the text between \\Q and \\E by escaped characters.

    A quotation may end with the pattern, and would then run on into the next alternative.
    """
    if "\\Q" not in pattern:
        return pattern
    return compile_pattern(_QUOTED).sub(lambda match: match[1] + _escape(match[2]), pattern)


def _compile(source: str, ignore_case: bool) -> Any:
    import re2  # noqa: PLC0415 - not for one literal

    options = re2.Options()
    options.never_nl = True
    options.longest_match = True
    options.log_errors = False
    options.case_sensitive = not ignore_case
    try:
        return re2.compile(f"(?m){source}", options)
    except (re2.error, UnicodeEncodeError) as error:
        reason = error.args[0]
        words = reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)
        shown = clip(one_line(source), 60)
        raise UsageError(
            f"RE2 rejects the pattern '{shown}' ({one_line(words)}): use -F for literal text "
            "(RE2 has no lookaround and no backreferences)"
        ) from None


def _make_plan(pattern: str) -> Plan | str | None:
    """Return the plan of a pattern, or None if its matches need not share a literal."""
    try:
        plan, end = _parse_alternatives(pattern, 0)
    except (ValueError, RecursionError):  # Plans know only a part of the syntax.
        return None
    return plan if end == len(pattern) else None


def _parse_alternatives(pattern: str, at: int) -> tuple[Plan | str | None, int]:
    branches = []
    while True:
        branch, at = _parse_sequence(pattern, at)
        branches.append(branch)
        if pattern[at : at + 1] != "|":
            return _any_of(branches), at
        at += 1


def _parse_sequence(pattern: str, at: int) -> tuple[Plan | str | None, int]:
    """Parse one alternative: a sequence of literal characters, classes and groups."""
    parts: list[Plan | str | None] = []
    run = ""
    while at < len(pattern) and pattern[at] not in "|)":
        atom, at = _parse_atom(pattern, at)
        least, at = _parse_repetition(pattern, at)
        if isinstance(atom, str) and len(atom) == 1 and least is None:
            run += atom
            continue
        # An optional literal ends the run. A repeated one ends it and is its last character.
        parts.append(run + atom if isinstance(atom, str) and least != 0 else run)
        run = ""
        if least != 0 and not isinstance(atom, str):
            parts.append(atom)
    return _all_of([*parts, run]), at


def _parse_atom(pattern: str, at: int) -> tuple[Plan | str | None, int]:
    """Parse a character, class or group; None is an atom without fixed text."""
    char = pattern[at]
    if char == "(":
        opening = compile_pattern(_GROUP).match(pattern, at)
        if opening is None or pattern[opening.end() : opening.end() + 1] == "?":
            raise ValueError
        plan, end = _parse_alternatives(pattern, opening.end())
        if pattern[end : end + 1] != ")":
            raise ValueError
        return (Plan("all", (plan,)) if isinstance(plan, str) else plan), end + 1
    if char == "[":
        char_class = compile_pattern(_CLASS).match(pattern, at)
        if char_class is None:
            raise ValueError
        return None, char_class.end()
    if char != "\\":
        return (None if char in ".^$" else char), at + 1
    escaped = pattern[at + 1 : at + 2]
    if escaped in tuple("dDwWsSbBAz"):
        return None, at + 2
    if escaped.isalnum() or not escaped.isascii() or escaped in ("", "_"):
        raise ValueError
    return escaped, at + 2


def _parse_repetition(pattern: str, at: int) -> tuple[int | None, int]:
    """Parse operators such as `*` and `{2,}`; return whether the atom must occur (1) or not (0).

    None means that there is no operator.
    """
    least: int | None = None
    while char := pattern[at : at + 1]:
        count = compile_pattern(_COUNT).match(pattern, at) if char == "{" else None
        if count is None and char not in "*+?":
            break
        once = int(count[1]) if count else int(char == "+")
        least = min(once, 1) if least is None else min(least, once)
        at = count.end() if count else at + 1
    return least, at


def _all_of(parts: Sequence[Plan | str | None]) -> Plan | str | None:
    kept = tuple(part for part in parts if part)
    return Plan("all", kept) if len(kept) > 1 else (kept[0] if kept else None)


def _any_of(parts: Sequence[Plan | str | None]) -> Plan | str | None:
    if not all(parts):
        return None
    return parts[0] if len(parts) == 1 else Plan("any", tuple(part for part in parts if part))


def trigrams(literal: str, ignore_case: bool) -> list[str]:
    """Return the indexed trigrams of every text that contains `literal`.

    If case is ignored, trigrams outside of ASCII are left out: there RE2 and the index fold case
    differently.
    """
    folded = trigram_text(literal)
    grams = {folded[i : i + 3] for i in range(len(folded) - 2)}
    return sorted(gram for gram in grams if gram.isascii() or not ignore_case)


def edge_words(literal: str, ignore_case: bool) -> list[str]:
    """Return regular expressions for words that every text that contains `literal` has.

    These are the first and the last word of the literal, which may continue outside of it.
    """
    if not literal.isascii():
        return []
    never = _FOLDED_FROM_UNICODE if ignore_case else frozenset()
    return [
        f"{'' if run.start() else '.*'}{run[0].lower()}{'' if run.end() < len(literal) else '.*'}"
        for run in compile_pattern("[A-Za-z0-9]+").finditer(literal)
        if _MIN_EDGE_CHARS <= len(run[0]) < MAX_WORD_CHARS and not never & set(run[0])
    ]


def whole_words(literal: str, ignore_case: bool) -> list[str]:
    """Return the words that every text that contains `literal` has as whole words.

    The first and the last word may continue outside of the literal. If case is ignored, words with
    s or k are left out: RE2 equates these letters with U+017F and U+212A, the index does not.
    """
    if not literal.isascii():
        return []
    words = compile_pattern(_INNER_WORD).findall(literal)
    never = _FOLDED_FROM_UNICODE if ignore_case else frozenset()
    return [word for word in words if len(word) < MAX_WORD_CHARS and not never & set(word)]

"""Exact patterns: which trigrams a match must have, and what matches. Pure.

A pattern is matched by RE2, line by line as grep does, on UTF-8; one literal needs no RE2. The plan
says which literals every match contains, as far as that is plain from the pattern; what it does not
understand it leaves out, so it may let too much through and never too little.
"""

from __future__ import annotations

from ccgrep.errors import UsageError
from ccgrep.fulltext.terms import MAX_WORD_CHARS, gram_text
from ccgrep.lazy_re import compile_pattern
from ccgrep.light_typing import TYPE_CHECKING, NamedTuple
from ccgrep.quick import import_re2
from ccgrep.text import clip, one_line

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
_UNSAFE_FOLDED = "[sSkK]"


class Plan(NamedTuple):
    """Every part must hold, or one of them; a part is a literal or a plan."""

    kind: Literal["all", "any"]
    parts: tuple[Plan | str, ...]


class Matcher:
    """Finds the matches of patterns, which are alternatives, in UTF-8 text."""

    def __init__(
        self, patterns: Sequence[str], is_literal: bool, ignore_case: bool, whole_word: bool
    ) -> None:
        lines = [line for pattern in patterns for line in pattern.split("\n")]
        if sum(len(line) for line in lines) > MAX_PATTERN_CHARS:
            raise UsageError(f"a pattern has at most {MAX_PATTERN_CHARS} characters: ask for less")
        # Each by itself, so that an error names the one that is wrong.
        alone = [] if is_literal else [_compile(line, ignore_case) for line in lines]
        if not is_literal:
            lines = [_unquoted(line) for line in lines]
        plans = [line if is_literal else _plan_of(line) for line in lines]
        self.plan = _any(plans)
        self.ignore_case = ignore_case
        self._needed = () if ignore_case else tuple(map(str.encode, _needed(self.plan)))
        is_plain = is_literal and len(lines) == 1 and not (ignore_case or whole_word)
        self._literal = lines[0].encode() if is_plain else b""
        self._group = 1 if whole_word else 0
        self._regexp: Any = None
        if len(alone) == 1 and not whole_word:
            (self._regexp,) = alone
        elif not self._literal:
            self._regexp = _joined(lines, is_literal, ignore_case, whole_word)

    def count(self, data: bytes) -> int:
        """How many matches there are; one that is empty is a match too."""
        if self._literal:
            return min(data.count(self._literal), _MAX_COUNT)
        if not self._may_match(data):
            return 0
        number = 0
        for _ in self.spans(data):
            number += 1
            if number == _MAX_COUNT:
                break
        return number or int(self._regexp.search(data) is not None)

    def spans(self, data: bytes) -> Iterator[tuple[int, int]]:
        """Where the matches that are not empty stand, from left to right, in bytes."""
        if self._literal:
            return _occurrences(self._literal, data)
        return self._regexp_spans(data)

    def _regexp_spans(self, data: bytes) -> Iterator[tuple[int, int]]:
        if not self._may_match(data):
            return
        if not self._group:
            # Behind an empty match it goes on by a byte: within a character nothing begins.
            for match in self._regexp.finditer(data):
                start, end = match.span()
                if end > start:
                    yield start, end
            return
        at = 0
        while at <= len(data) and (match := self._regexp.search(data, at)) is not None:
            start, end = match.span(self._group)
            if end > start:
                yield start, end
            at = end if end > at else _next_character(data, at)

    def _may_match(self, data: bytes) -> bool:
        """Whether it has every literal that a match must have, which is soon seen."""
        return all(literal in data for literal in self._needed)


def _occurrences(literal: bytes, data: bytes) -> Iterator[tuple[int, int]]:
    end = 0
    while (start := data.find(literal, end)) >= 0:
        end = start + len(literal)
        yield start, end


def _joined(lines: Sequence[str], is_literal: bool, ignore_case: bool, whole_word: bool) -> Any:
    """The alternatives as one pattern, its first group being the match if that is a whole word."""
    joined = "|".join(f"(?:{_quoted(line) if is_literal else line})" for line in lines)
    if whole_word:
        joined = f"(?:^|[^{_WORD}])({joined})(?:[^{_WORD}]|$)"
    return _compile(joined, ignore_case)


def _re2() -> Any:
    import_re2()
    import re2  # noqa: PLC0415 - not for one literal

    return re2


def _quoted(literal: str) -> str:
    return str(_re2().escape(literal))


def _unquoted(pattern: str) -> str:
    """A pattern with what stands between \\Q and \\E escaped one by one, as it means the same:
    a quotation may also end with the pattern, and would then run on into the next one."""
    if "\\Q" not in pattern:
        return pattern
    return compile_pattern(_QUOTED).sub(lambda found: found[1] + _quoted(found[2]), pattern)


def _next_character(data: bytes, at: int) -> int:
    at += 1
    while at < len(data) and data[at] & 0xC0 == 0x80:
        at += 1
    return at


def _compile(source: str, ignore_case: bool) -> Any:
    re2 = _re2()
    options = re2.Options()
    options.never_nl = True
    options.longest_match = True
    options.log_errors = False
    options.case_sensitive = not ignore_case
    shown = clip(one_line(source), 60)
    try:
        return re2.compile(f"(?m){source}", options)
    except (re2.error, UnicodeEncodeError) as error:
        reason = error.args[0]
        words = reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)
        raise UsageError(
            f"{shown} is not a pattern that RE2 takes ({one_line(words)}); "
            "-F searches for the text as it is, and lookaround and backreferences have no place"
        ) from None


# The plan.


class _UnknownError(Exception):
    """Something in a pattern that the plan does not reason about."""


def _plan_of(pattern: str) -> Plan | str | None:
    try:
        plan, end = _alternatives(pattern, 0)
    except (_UnknownError, RecursionError):
        return None
    return plan if end == len(pattern) else None


def _alternatives(pattern: str, at: int) -> tuple[Plan | str | None, int]:
    branches = []
    while True:
        branch, at = _sequence(pattern, at)
        branches.append(branch)
        if pattern[at : at + 1] != "|":
            return _any(branches), at
        at += 1


def _sequence(pattern: str, at: int) -> tuple[Plan | str | None, int]:
    """What must stand between two bars: runs of plain characters, and groups."""
    parts: list[Plan | str | None] = []
    run = ""
    while at < len(pattern) and pattern[at] not in "|)":
        atom, at = _atom(pattern, at)
        least, at = _repeat(pattern, at)
        if isinstance(atom, str) and len(atom) == 1 and least is None:
            run += atom
            continue
        # A literal that may be missing ends the run; one that is repeated begins and ends it.
        parts.append(run + atom if isinstance(atom, str) and least != 0 else run)
        run = ""
        if least != 0 and not isinstance(atom, str):
            parts.append(atom)
    return _all([*parts, run]), at


def _atom(pattern: str, at: int) -> tuple[Plan | str | None, int]:
    """One character, class or group; `None` is whatever has no fixed text."""
    char = pattern[at]
    if char == "(":
        opening = compile_pattern(_GROUP).match(pattern, at)
        if opening is None or pattern[opening.end() : opening.end() + 1] == "?":
            raise _UnknownError
        plan, end = _alternatives(pattern, opening.end())
        if pattern[end : end + 1] != ")":
            raise _UnknownError
        return (Plan("all", (plan,)) if isinstance(plan, str) else plan), end + 1
    if char == "[":
        found = compile_pattern(_CLASS).match(pattern, at)
        if found is None:
            raise _UnknownError
        return None, found.end()
    if char == "\\":
        return _escaped(pattern, at)
    return (None if char in ".^$" else char), at + 1


def _escaped(pattern: str, at: int) -> tuple[Plan | str | None, int]:
    char = pattern[at + 1 : at + 2]
    if char and not char.isalnum() and char.isascii() and char != "_":
        return char, at + 2
    if char in tuple("dDwWsSbBAz"):
        return None, at + 2
    raise _UnknownError


def _repeat(pattern: str, at: int) -> tuple[int | None, int]:
    """How often the atom before must stand there at least; `None` without a repetition."""
    least: int | None = None
    while char := pattern[at : at + 1]:
        found = compile_pattern(_COUNT).match(pattern, at) if char == "{" else None
        if found is None and char not in "*+?":
            break
        once = int(found[1]) if found else int(char == "+")
        least = min(once, 1) if least is None else min(least, once)
        at = found.end() if found else at + 1
    return least, at


def _all(parts: Sequence[Plan | str | None]) -> Plan | str | None:
    kept = tuple(part for part in parts if part)
    return Plan("all", kept) if len(kept) > 1 else (kept[0] if kept else None)


def _any(parts: Sequence[Plan | str | None]) -> Plan | str | None:
    if not all(parts):
        return None
    return parts[0] if len(parts) == 1 else Plan("any", tuple(part for part in parts if part))


def _needed(plan: Plan | str | None) -> list[str]:
    """Literals that stand in every match as they are."""
    if isinstance(plan, Plan):
        return [text for part in plan.parts for text in _needed(part)] if plan.kind == "all" else []
    return [plan] if plan else []


def trigrams(literal: str, ignore_case: bool) -> list[str]:
    """The trigrams of every text that contains `literal`, as they are indexed.

    Without regard to case RE2 equates letters that the index does not, outside of ASCII.
    """
    folded = gram_text(literal)
    found = {folded[i : i + 3] for i in range(len(folded) - 2)}
    return sorted(gram for gram in found if gram.isascii() or not ignore_case)


def whole_words(literal: str, ignore_case: bool) -> list[str]:
    """The words that stand whole in every text that contains `literal`.

    Of those at its ends only a part may be meant. What the index folds is left out.
    """
    if not literal.isascii():
        return []
    words = (
        word for word in compile_pattern(_INNER_WORD).findall(literal) if len(word) < MAX_WORD_CHARS
    )
    return [
        word for word in words if not (ignore_case and compile_pattern(_UNSAFE_FOLDED).search(word))
    ]

"""Which permissions would have saved questions? Rules by how often they would have held.

Only rules that `safety.py` knows are ever suggested. A use in a pipe or beside other commands
counts for little: there the rule alone does not decide.
"""

from collections.abc import Iterable
from typing import Literal, NamedTuple

from ccgrep.stats.tally import COMPOUND, Use

Confidence = Literal["high", "medium", "low"]

HIGH_USES = 50
MEDIUM_USES = 10


class Suggestion(NamedTuple):
    rule: str  # as Claude Code's settings take it
    pattern: str
    uses: int
    confidence: Confidence
    reason: str


class Skipped(NamedTuple):
    pattern: str
    uses: int
    reason: str


class Suggestions(NamedTuple):
    """What may be allowed, and what was used but may not; the most used first."""

    suggestions: tuple[Suggestion, ...]
    skipped: tuple[Skipped, ...]

    @property
    def allowed(self) -> list[str]:
        """The rules to put into settings: those that need no second look."""
        return [found.rule for found in self.suggestions if found.confidence != "low"]


def suggest(used: Iterable[tuple[Use, int, int]]) -> Suggestions:
    """From how a shell was used, as `Report.shell_uses` says, to suggestions."""
    plain: dict[str, int] = {}
    joined: dict[str, int] = {}
    skipped: dict[tuple[str, str], int] = {}
    for (base, sub, flags, verdict), uses, _ in used:
        mark, said = verdict[:1], verdict[1:]
        if mark == "+":
            plain.setdefault(said, 0)
            counts = joined if flags & COMPOUND else plain
            counts[said] = counts.get(said, 0) + uses
        else:
            more = " (with other commands)" if flags & COMPOUND else ""
            key = " ".join(filter(None, (base, sub, "*"))) + more, said
            skipped[key] = skipped.get(key, 0) + uses
    found = [_suggestion(rule, uses, joined.get(rule, 0)) for rule, uses in plain.items()]
    found.sort(key=lambda one: (-one.uses, one.rule))
    left = [Skipped(pattern, uses, reason) for (pattern, reason), uses in skipped.items()]
    left.sort(key=lambda one: (-one.uses, one.pattern, one.reason))
    return Suggestions(tuple(found), tuple(left))


def _suggestion(rule: str, alone: int, joined: int) -> Suggestion:
    pattern = rule.removeprefix("Bash(").removesuffix(")").replace(":*", " *")
    confidence: Confidence = "low"
    reason = "Known to be read-only, with any options"
    if not pattern.endswith("*"):
        reason = "Known to be read-only, as it stands"
    if alone >= HIGH_USES:
        confidence = "high"
    elif alone >= MEDIUM_USES:
        confidence = "medium"
    elif alone + joined >= MEDIUM_USES:
        reason = "Mostly used in pipes or with other commands"
    else:
        reason = f"Fewer than {MEDIUM_USES} uses"
    return Suggestion(rule, pattern, alone + joined, confidence, reason)

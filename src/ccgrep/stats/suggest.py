"""Suggests permission rules by how often they would have spared the user a question.

It suggests only rules from `safety.py`, and offers exact commands of `project_commands.py` for
review. Uses in pipes or next to other commands do not raise the confidence, because there one
rule alone does not allow the whole command.
"""

from collections.abc import Iterable
from typing import Literal, NamedTuple

from ccgrep.stats.project_commands import find_reason
from ccgrep.stats.shard_tally import COMPOUND, ShellUse

Confidence = Literal["high", "medium", "low"]

HIGH_USES = 50
MEDIUM_USES = 10


class Suggestion(NamedTuple):
    rule: str  # in the syntax of Claude Code's settings
    pattern: str
    uses: int
    confidence: Confidence
    reason: str


class Skipped(NamedTuple):
    pattern: str
    uses: int
    reason: str


class Reviewed(NamedTuple):
    """A command that runs the project's own code or tools, and was used often."""

    command: str
    uses: int
    reason: str

    @property
    def rule(self) -> str:
        """The rule that allows this command and no other."""
        return f"Bash({self.command})"


class Suggestions(NamedTuple):
    """Rules that are safe to allow, and commands that are not, the most used first."""

    suggestions: tuple[Suggestion, ...]
    skipped: tuple[Skipped, ...]

    @property
    def allowed(self) -> list[str]:
        """The rules for the settings file: those that need no review."""
        return [each.rule for each in self.suggestions if each.confidence != "low"]


def suggest(shell_uses: Iterable[tuple[ShellUse, int, int]]) -> Suggestions:
    """Turn the result of `Report.shell_uses` into suggestions."""
    alone: dict[str, int] = {}
    compound: dict[str, int] = {}
    skipped: dict[tuple[str, str], int] = {}
    for (base, sub, flags, verdict, _), uses, _ in shell_uses:
        sign, rule_or_reason = verdict[:1], verdict[1:]
        if sign == "+":
            alone.setdefault(rule_or_reason, 0)
            counts = compound if flags & COMPOUND else alone
            counts[rule_or_reason] = counts.get(rule_or_reason, 0) + uses
        else:
            suffix = " (with other commands)" if flags & COMPOUND else ""
            key = " ".join(filter(None, (base, sub, "*"))) + suffix, rule_or_reason
            skipped[key] = skipped.get(key, 0) + uses
    rules = [_suggestion(rule, uses, compound.get(rule, 0)) for rule, uses in alone.items()]
    rules.sort(key=lambda each: (-each.uses, each.rule))
    refused = [Skipped(pattern, uses, reason) for (pattern, reason), uses in skipped.items()]
    refused.sort(key=lambda each: (-each.uses, each.pattern, each.reason))
    return Suggestions(tuple(rules), tuple(refused))


def review(shell_uses: Iterable[tuple[ShellUse, int, int]]) -> tuple[Reviewed, ...]:
    """Return the commands to review that were used often, the most used first."""
    counts: dict[str, int] = {}
    for use, uses, _ in shell_uses:
        if use.command:
            counts[use.command] = counts.get(use.command, 0) + uses
    frequent = [one for one in counts.items() if one[1] >= MEDIUM_USES]
    frequent.sort(key=lambda one: (-one[1], one[0]))
    return tuple(Reviewed(command, uses, find_reason(command)) for command, uses in frequent)


def _suggestion(rule: str, alone: int, compound: int) -> Suggestion:
    pattern = rule.removeprefix("Bash(").removesuffix(")").replace(":*", " *")
    confidence: Confidence = "low"
    arguments = "with any arguments" if pattern.endswith("*") else "without arguments"
    reason = f"Known to be read-only {arguments}"
    if alone >= HIGH_USES:
        confidence = "high"
    elif alone >= MEDIUM_USES:
        confidence = "medium"
    elif alone + compound >= MEDIUM_USES:
        reason = "Mostly used in pipes or with other commands"
    else:
        reason = f"Fewer than {MEDIUM_USES} uses"
    return Suggestion(rule, pattern, alone + compound, confidence, reason)

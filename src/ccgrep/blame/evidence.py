"""The evidence that a turn made a commit, and how certain it is. Pure."""

from typing import Literal, NamedTuple

EvidenceKind = Literal["committed", "rewritten", "wrote"]

_REWRITTEN_SCORE = 0.95
_MAX_WROTE_SCORE = 0.9


class Evidence(NamedTuple):
    """What connects a turn with a commit. `lines` of its `total` lines are the turn's."""

    kind: EvidenceKind
    lines: int = 0
    total: int = 0

    @property
    def score(self) -> float:
        """How sure it is, from 0 to 1."""
        if self.kind == "wrote":
            return _MAX_WROTE_SCORE * (self.lines / self.total)
        return 1.0 if self.kind == "committed" else _REWRITTEN_SCORE

    def describe(self) -> str:
        match self.kind:
            case "committed":
                return "committed here"
            case "rewritten":
                return "committed here, rewritten since"
            case "wrote":
                return f"wrote {self.lines} of {self.total} lines"


class MadeCommit(NamedTuple):
    """A commit that a turn made, or a part of it. The hash may be cut off."""

    sha: str
    subject: str
    evidence: Evidence

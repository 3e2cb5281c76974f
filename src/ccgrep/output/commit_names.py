"""Names commits, and says what connects them with turns, for `show` and for records."""

from typing import Any, Protocol

from ccgrep.blame.evidence import Evidence
from ccgrep.text import clip, one_line

MAX_SUBJECT_COLUMNS = 72
_HASH_CHARS = 10


class NamedCommit(Protocol):
    @property
    def sha(self) -> str: ...
    @property
    def subject(self) -> str: ...


def name_commit(commit: NamedCommit) -> str:
    """Return the hash and the subject of a commit in one line."""
    subject = clip(one_line(commit.subject), MAX_SUBJECT_COLUMNS)
    return f"{commit.sha[:_HASH_CHARS]} {subject}".rstrip()


def evidence_fields(evidence: Evidence) -> dict[str, Any]:
    return {
        "evidence": evidence.kind,
        "score": round(evidence.score, 3),
        "lines": evidence.lines or None,
        "total_lines": evidence.total or None,
    }

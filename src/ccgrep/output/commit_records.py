"""Formats commits and the turns that made them: record lines, JSON fields and notes."""

from collections.abc import Iterator
from typing import Any

from ccgrep.blame.access_log import BlamedTurn
from ccgrep.blame.evidence import Evidence
from ccgrep.ops.commits import BlamedCommit
from ccgrep.output import record_line
from ccgrep.output.blame_records import turn_fields
from ccgrep.output.commit_names import MAX_SUBJECT_COLUMNS, evidence_fields, name_commit
from ccgrep.output.formatting import iso_time
from ccgrep.output.style import Style
from ccgrep.text import clip, one_line


def commit_lines(blamed: BlamedCommit, is_full_id: bool, style: Style) -> Iterator[str]:
    """Yield a record line for each turn that made the commit; the score tells how sure it is."""
    for turn, evidence in blamed.authors:
        text = f"{name_commit(blamed.commit)} ({evidence.describe()})"
        text = f"{text}: {turn.prompt}" if turn.prompt.strip() else text
        id = turn.place.session if is_full_id else turn.short_id
        snippet = record_line.plain_snippet(text, record_line.WIDTH)
        yield record_line.format_record(id, turn.place.turn, evidence.score, snippet, style)


def commit_fields(blamed: BlamedCommit) -> dict[str, Any]:
    commit = blamed.commit
    return {
        "sha": commit.sha,
        "subject": commit.subject,
        "authored_at": iso_time(commit.author_ms),
        "turns": [_author_fields(turn, evidence) for turn, evidence in blamed.authors],
    }


def _author_fields(turn: BlamedTurn, evidence: Evidence) -> dict[str, Any]:
    return {**turn_fields(turn), **evidence_fields(evidence), "prompt": turn.prompt}


def note_text(blamed: BlamedCommit) -> str:
    """Return the text of a commit's note: a line for each turn that made it."""
    lines = []
    for turn, evidence in blamed.authors:
        title = turn.session.title if turn.session is not None else ""
        ref = f"{turn.short_id}:{turn.place.turn}"
        lines.append(f"{ref} {evidence.describe()}: {clip(one_line(title), MAX_SUBJECT_COLUMNS)}")
    return "\n".join(f"ccgrep show {line}".rstrip(": ") for line in lines)

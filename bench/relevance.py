"""How good is the ranking: questions about conversations whose answers' sessions are known.

python bench/relevance.py FILE            a JSON list of conversations with questions, as LoCoMo's
python bench/relevance.py FILE --explain  and each question whose session was not the first
python bench/relevance.py FILE --modes words semantic hybrid   the same by meaning, side by side

A conversation's sessions become transcripts of Claude Code, two messages a turn, and are indexed
alone; each question is asked as typed, and sessions are ranked by their best turn. Questions that
name no session as evidence are left out.
"""

import argparse
import os
import re
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1]))

import msgspec

from ccgrep.semantic import ENVIRONMENT

os.environ.update(ENVIRONMENT)

from ccgrep.config import Config, make_config
from ccgrep.kinds import Mode
from ccgrep.ops.embed import embed_pending
from ccgrep.ops.index import index
from ccgrep.ops.search import search
from ccgrep.search.request import Hit, Request
from ccgrep.search.searcher import SearchOptions

_SESSION = re.compile(r"session_(\d+)")
_EVIDENCE = re.compile(r"D:?(\d+):\d+")
_LEAST: dict[Mode, tuple[float, float]] = {
    "words": (0.70, 0.92),
    "semantic": (0.0, 0.0),
    "hybrid": (0.74, 0.94),
}
_CATEGORIES = {1: "several sessions", 2: "time", 3: "inference", 4: "one session", 5: "adversarial"}


class Message(msgspec.Struct):
    speaker: str
    text: str
    blip_caption: str = ""

    def __str__(self) -> str:
        picture = f" [{self.blip_caption}]" if self.blip_caption else ""
        return f"{self.speaker}: {self.text}{picture}"


class Question(msgspec.Struct):
    question: str
    evidence: list[str]
    category: int

    def sessions(self) -> set[str]:
        """The sessions that hold the answer."""
        return {_id(int(number)) for one in self.evidence for number in _EVIDENCE.findall(one)}


class Conversation(msgspec.Struct):
    """`conversation` has `session_N`, a list of messages, and `session_N_date_time`."""

    conversation: dict[str, object]
    qa: list[Question]
    sample_id: str = ""


class Asked(NamedTuple):
    """A question and its answer; `rank` counts sessions from 1, 0 is not found."""

    question: Question
    rank: int
    tier: str
    hits: list[Hit]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("--explain", action="store_true", help="name the questions that failed")
    parser.add_argument("--modes", nargs="+", choices=list(_LEAST), default=["words"])
    arguments = parser.parse_args()
    begun = time.monotonic()
    asked: dict[Mode, list[Asked]] = {mode: [] for mode in arguments.modes}
    for one in msgspec.json.decode(arguments.file.read_bytes(), type=list[Conversation]):
        with tempfile.TemporaryDirectory(prefix="ccgrep-bench-") as home:
            config = indexed(one, Path(home))
            if set(asked) - {"words"}:
                embed_pending(config, days=0)
            for mode in asked:
                found = list(ask(config, one.qa, mode))
                _row(f"{one.sample_id} {mode}", found)
                if arguments.explain:
                    _explain(found)
                asked[mode] += found
    for mode, answers in asked.items():
        report(mode, answers)
    print(f"  {time.monotonic() - begun:.1f} s")


def indexed(one: Conversation, home: Path) -> Config:
    """A home and a store with the sessions of one conversation."""
    project = home / ".claude" / "projects" / "-home-sam-talk"
    project.mkdir(parents=True)
    for name, value in one.conversation.items():
        if found := _SESSION.fullmatch(name):
            messages = msgspec.convert(value, list[Message])
            started = _time(str(one.conversation[f"{name}_date_time"]))
            id = _id(int(found[1]))
            records = _records(id, messages, started)
            (project / f"{id}.jsonl").write_bytes(msgspec.json.Encoder().encode_lines(records))
    config = make_config({"HOME": str(home), "CCGREP_DIR": str(home / "store")})
    index(config)
    return config


def ask(config: Config, questions: Sequence[Question], mode: Mode) -> Iterator[Asked]:
    for question in questions:
        gold = question.sessions()
        if gold:
            request = Request(patterns=(question.question,), mode=mode, limit=0)
            result = search(config, request, SearchOptions())
            answer = result.answer
            ranking = list(dict.fromkeys(hit.place.session for hit in answer.hits))
            ranks = [rank for rank, id in enumerate(ranking, 1) if id in gold]
            yield Asked(question, ranks[0] if ranks else 0, answer.tier, answer.hits)


def _id(number: int) -> str:
    return f"{number:08x}-0000-4000-8000-{number:012x}"


def _time(text: str) -> datetime:
    """From `1:56 pm on 8 May, 2023`."""
    return datetime.strptime(text.upper(), "%I:%M %p ON %d %B, %Y").replace(tzinfo=UTC)


def _records(id: str, messages: Sequence[Message], started: datetime) -> list[dict[str, object]]:
    """The lines of a transcript; the first of two messages is the user's."""
    records: list[dict[str, object]] = []
    for number, message in enumerate(messages):
        text = str(message)
        role = "assistant" if number % 2 else "user"
        content: object = text
        if role == "assistant":
            content = [{"type": "text", "text": text}]
        made: dict[str, object] = {"role": role, "content": content}
        if role == "assistant":
            made |= {"id": f"msg_{number:016x}", "type": "message", "model": "claude-opus-4-6"}
        at = started + timedelta(seconds=20 * number)
        records.append(
            {
                "parentUuid": _id(number) if number else None,
                "isSidechain": False,
                "userType": "external",
                "cwd": "/home/sam/talk",
                "sessionId": id,
                "version": "2.1.150",
                "type": role,
                "uuid": _id(number + 1),
                "timestamp": at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
                "message": made,
            }
        )
    return records


def report(mode: Mode, asked: Sequence[Asked]) -> None:
    print(f"\n{mode}")
    for category in sorted({one.question.category for one in asked}):
        name = _CATEGORIES.get(category, str(category))
        _row(name, [one for one in asked if one.question.category == category])
    print()
    for tier in sorted({one.tier for one in asked}):
        _row(f"{tier} words", [one for one in asked if one.tier == tier])
    print()
    _row("all", asked)
    first, within, _ = scores(asked)
    for what, share, least in zip(
        ("rank 1", "within 5"), (first, within), _LEAST[mode], strict=True
    ):
        verdict = "ok" if share >= least else "UNDER"
        print(f"  {what:<20}{share:>8.1%} of at least {least:.0%}  {verdict}")


def scores(asked: Sequence[Asked]) -> tuple[float, float, float]:
    """The share at rank 1, within 5, and the mean reciprocal rank."""
    ranks = [one.rank for one in asked]
    first = sum(rank == 1 for rank in ranks)
    within = sum(1 <= rank <= 5 for rank in ranks)
    reciprocal = sum(1 / rank for rank in ranks if rank)
    count = len(ranks) or 1
    return first / count, within / count, reciprocal / count


def _row(what: str, asked: Sequence[Asked]) -> None:
    first, within, mrr = scores(asked)
    figures = f"{first:>8.1%} rank 1{within:>8.1%} within 5{mrr:>8.3f} MRR"
    print(f"  {what:<20}{len(asked):>5} questions{figures}")


def _explain(asked: Sequence[Asked]) -> None:
    for one in asked:
        if one.rank != 1:
            gold = " ".join(sorted(str(int(id[:8], 16)) for id in one.question.sessions()))
            found = " ".join(f"{int(h.place.session[:8], 16)}:{h.score:.3f}" for h in one.hits[:5])
            print(f"    {one.rank or '-':>3} {one.tier:<5}{one.question.question}")
            print(f"        wanted {gold}; found {found or 'nothing'} of {len(one.hits)} turns")


if __name__ == "__main__":
    main()

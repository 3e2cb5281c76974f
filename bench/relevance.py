"""Measures ranking with questions about conversations whose answering sessions are known.

python bench/relevance.py FILE            a JSON list of conversations with questions, like LoCoMo
python bench/relevance.py FILE --explain  also print the questions whose session was not first
python bench/relevance.py FILE --modes words semantic hybrid   compare modes of search

The sessions of a conversation become transcripts of Claude Code with two messages per turn, in a
store of their own. Each question is searched for as typed, and sessions are ranked by their best
turn. Questions without a session as evidence are skipped.
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

from bench.budget import Ratio, print_row
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
_MIN_SHARES: dict[Mode, tuple[float, float]] = {
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
        """Return the ids of the sessions that hold the answer."""
        return {_id(int(number)) for text in self.evidence for number in _EVIDENCE.findall(text)}


class Conversation(msgspec.Struct):
    """`conversation` has `session_N`, a list of messages, and `session_N_date_time`."""

    conversation: dict[str, object]
    qa: list[Question]
    sample_id: str = ""


class Outcome(NamedTuple):
    """The result of a question. `rank` counts sessions from 1, and is 0 if none was found."""

    question: Question
    rank: int
    tier: str
    hits: list[Hit]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("--explain", action="store_true", help="print the questions that failed")
    parser.add_argument("--modes", nargs="+", choices=list(_MIN_SHARES), default=["words"])
    arguments = parser.parse_args()
    started = time.monotonic()
    outcomes: dict[Mode, list[Outcome]] = {mode: [] for mode in arguments.modes}
    for conversation in msgspec.json.decode(arguments.file.read_bytes(), type=list[Conversation]):
        with tempfile.TemporaryDirectory(prefix="ccgrep-bench-") as home:
            config = index_conversation(conversation, Path(home))
            if set(outcomes) - {"words"}:
                embed_pending(config, days=0)
            for mode, all_of_mode in outcomes.items():
                own = list(ask(config, conversation.qa, mode))
                _print_scores(f"{conversation.sample_id} {mode}", own)
                if arguments.explain:
                    _explain(own)
                all_of_mode.extend(own)
    for mode, all_of_mode in outcomes.items():
        report(mode, all_of_mode)
    print(f"  {time.monotonic() - started:.1f} s")


def index_conversation(conversation: Conversation, home: Path) -> Config:
    """Write the sessions of a conversation as transcripts and ingest them."""
    project = home / ".claude" / "projects" / "-home-sam-talk"
    project.mkdir(parents=True)
    for name, value in conversation.conversation.items():
        if match := _SESSION.fullmatch(name):
            messages = msgspec.convert(value, list[Message])
            started = _time(str(conversation.conversation[f"{name}_date_time"]))
            id = _id(int(match[1]))
            records = _records(id, messages, started)
            (project / f"{id}.jsonl").write_bytes(msgspec.json.Encoder().encode_lines(records))
    config = make_config({"HOME": str(home), "CCGREP_DIR": str(home / "store")})
    index(config)
    return config


def ask(config: Config, questions: Sequence[Question], mode: Mode) -> Iterator[Outcome]:
    for question in questions:
        expected = question.sessions()
        if expected:
            request = Request(patterns=(question.question,), mode=mode, limit=0)
            result = search(config, request, SearchOptions())
            answer = result.answer
            ranking = list(dict.fromkeys(hit.place.session for hit in answer.hits))
            ranks = [rank for rank, id in enumerate(ranking, 1) if id in expected]
            yield Outcome(question, ranks[0] if ranks else 0, answer.tier, answer.hits)


def _id(number: int) -> str:
    return f"{number:08x}-0000-4000-8000-{number:012x}"


def _time(text: str) -> datetime:
    """Parse a time such as `1:56 pm on 8 May, 2023`."""
    return datetime.strptime(text.upper(), "%I:%M %p ON %d %B, %Y").replace(tzinfo=UTC)


def _records(id: str, messages: Sequence[Message], started: datetime) -> list[dict[str, object]]:
    """Return the records of a transcript. The user and the assistant take turns."""
    records: list[dict[str, object]] = []
    for number, message in enumerate(messages):
        text = str(message)
        role = "assistant" if number % 2 else "user"
        content: object = text
        if role == "assistant":
            content = [{"type": "text", "text": text}]
        body: dict[str, object] = {"role": role, "content": content}
        if role == "assistant":
            body |= {"id": f"msg_{number:016x}", "type": "message", "model": "claude-opus-4-6"}
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
                "message": body,
            }
        )
    return records


def report(mode: Mode, outcomes: Sequence[Outcome]) -> None:
    print(f"\n{mode}")
    for category in sorted({each.question.category for each in outcomes}):
        name = _CATEGORIES.get(category, str(category))
        _print_scores(name, [each for each in outcomes if each.question.category == category])
    print()
    for tier in sorted({each.tier for each in outcomes}):
        _print_scores(f"{tier} words", [each for each in outcomes if each.tier == tier])
    print()
    _print_scores("all", outcomes)
    for label, share, limit in zip(
        ("rank 1", "within 5"), scores(outcomes), _MIN_SHARES[mode], strict=False
    ):
        print_row(label, f"{share:.1%}", Ratio(share, limit, "of all questions", is_minimum=True))


def scores(outcomes: Sequence[Outcome]) -> tuple[float, float, float]:
    """Return the share at rank 1, the share within 5, and the mean reciprocal rank."""
    ranks = [each.rank for each in outcomes]
    first = sum(rank == 1 for rank in ranks)
    within = sum(1 <= rank <= 5 for rank in ranks)
    reciprocal = sum(1 / rank for rank in ranks if rank)
    count = len(ranks) or 1
    return first / count, within / count, reciprocal / count


def _print_scores(label: str, outcomes: Sequence[Outcome]) -> None:
    first, within, mrr = scores(outcomes)
    figures = f"{first:>8.1%} rank 1{within:>8.1%} within 5{mrr:>8.3f} MRR"
    print(f"  {label:<20}{len(outcomes):>5} questions{figures}")


def _explain(outcomes: Sequence[Outcome]) -> None:
    for question, rank, tier, hits in outcomes:
        if rank != 1:
            expected = " ".join(sorted(str(int(id[:8], 16)) for id in question.sessions()))
            best = " ".join(f"{int(h.place.session[:8], 16)}:{h.score:.3f}" for h in hits[:5])
            print(f"    {rank or '-':>3} {tier:<5}{question.question}")
            print(f"        expected {expected}, found {best or 'nothing'} of {len(hits)} turns")


if __name__ == "__main__":
    main()

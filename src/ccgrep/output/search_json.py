"""Search results as JSON, with full content."""

from collections.abc import Iterator
from typing import Any

from ccgrep.config import Config
from ccgrep.model import Turn
from ccgrep.ops.search import MEANING, Coverage, FoundHit, Result, Searcher
from ccgrep.ops.sessions import row_of
from ccgrep.output.json import coverage_fields, dumps, iso, project_name, turn_messages
from ccgrep.search.request import Hit, Place, Request


def results(
    result: Result, hits: list[FoundHit], searcher: Searcher, config: Config, request: Request
) -> dict[str, Any]:
    """The whole answer, ready to be written."""
    coverage = result.coverage
    made = [_result(rank, found, searcher, config, request) for rank, found in enumerate(hits, 1)]
    return {
        "query": " ".join(request.patterns),
        "total_results": result.answer.total,
        "search_time_ms": round(result.seconds * 1000),
        "tier": result.answer.tier,
        "coverage": {
            **coverage_fields(coverage),
            "is_complete": coverage.is_whole and not result.answer.is_cut_short,
            **_embedded(coverage),
        },
        "results": made,
    }


def _embedded(coverage: Coverage) -> dict[str, Any]:
    found = coverage.embedded
    return {"embedded": found.texts, "to_embed": found.total} if found is not None else {}


def whole(made: dict[str, Any], kept: int) -> str:
    """The answer with its first `kept` results."""
    results = made["results"]
    left = {"left_out": len(results) - kept} if kept < len(results) else {}
    return dumps({**made, **left, "results": results[:kept]})


def lines(made: dict[str, Any]) -> Iterator[str]:
    """One object a hit."""
    for one in made["results"]:
        yield dumps({"query": made["query"], "tier": made["tier"], **one})


def _result(
    rank: int, found: FoundHit, searcher: Searcher, config: Config, request: Request
) -> dict[str, Any]:
    hit = found.hit
    row = row_of(config, hit.place.session)
    turn = searcher.turn(hit.place)
    path = row.files[0].path if row is not None and row.files else None
    project = row.session.project if row is not None else found.stored.project
    return {
        "rank": rank,
        "score": round(hit.score, 4),
        "id": searcher.turn_id(hit.place),
        "project": project_name(project),
        "project_path": project,
        "source": row.session.source if row is not None else found.stored.source,
        "session_id": hit.place.session,
        "session_path": path,
        "is_gone": row.is_gone if row is not None else True,
        "title": row.session.title if row is not None else "",
        "turn": hit.place.turn,
        "timestamp": iso(hit.started or None),
        "messages": _messages(turn, request),
        "context": list(_context(searcher, hit.place)),
        **_parts(hit, request),
        "also_in": [{"session_id": p.session, "turn": p.turn} for p in hit.also_in],
    }


def _parts(hit: Hit, request: Request) -> dict[str, Any]:
    if request.mode not in MEANING:
        return {}
    return {"parts": {name: round(value, 4) for name, value in hit.parts}}


def _messages(turn: Turn | None, request: Request) -> list[dict[str, Any]]:
    if turn is None:
        return []
    said = turn_messages(turn, "tool" in request.types, "thinking" in request.types)
    return [message for message in said if message["role"] != "system"]


def _context(searcher: Searcher, place: Place) -> Iterator[dict[str, Any]]:
    """What was said just before and just after."""
    for number, is_before in ((place.turn - 1, True), (place.turn + 1, False)):
        near = searcher.turn(Place(place.session, number)) if number >= 0 else None
        said = turn_messages(near, False, False) if near is not None else []
        talk = [message for message in said if message["role"] != "system"]
        if talk:
            message = talk[-1] if is_before else talk[0]
            yield {"turn": number, "role": message["role"], "content": message.get("content", "")}

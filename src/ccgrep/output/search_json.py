"""JSON of search results, with the complete text of each hit."""

from collections.abc import Iterator
from typing import Any

from ccgrep.config import Config
from ccgrep.model import Turn
from ccgrep.ops.search import Result
from ccgrep.output.formatting import iso_time
from ccgrep.output.json_document import coverage_fields, encode_document
from ccgrep.output.near_miss_text import near_miss_fields
from ccgrep.output.session_json import turn_messages
from ccgrep.output.turn_parts import Include
from ccgrep.paths import last_name
from ccgrep.search.request import SEMANTIC_MODES, Place, Request
from ccgrep.search.searcher import FoundHit, Searcher
from ccgrep.store.lifecycle import read_consistently
from ccgrep.store.machines import name_machine, read_machines


def search_fields(
    result: Result, hits: list[FoundHit], searcher: Searcher, config: Config, request: Request
) -> dict[str, Any]:
    coverage, covered = result.coverage, result.coverage.embedded
    embedding = (
        {}
        if covered is None
        else {
            "embedded": covered.texts,
            "to_embed": covered.total,
            "outside_window": covered.outside,
        }
    )
    miss = {} if result.near_miss is None else {"near_miss": near_miss_fields(result.near_miss)}
    return {
        "query": " ".join(request.patterns),
        "total_results": result.answer.total,
        "search_time_ms": round(result.seconds * 1000),
        "tier": result.answer.tier,
        "coverage": {
            **coverage_fields(coverage),
            "is_complete": coverage.is_whole and not result.answer.is_cut_short,
            **embedding,
        },
        "results": [
            _hit_fields(rank, found, searcher, config, request)
            for rank, found in enumerate(hits, 1)
        ],
        **miss,
    }


def encode_search(fields: dict[str, Any], count: int) -> str:
    """Return one document with the first `count` results."""
    results = fields["results"]
    left = {"left_out": len(results) - count} if count < len(results) else {}
    return encode_document({**fields, **left, "results": results[:count]})


def encode_hits(fields: dict[str, Any]) -> Iterator[str]:
    """Yield one document per hit."""
    for hit in fields["results"]:
        yield encode_document({"query": fields["query"], "tier": fields["tier"], **hit})


def _hit_fields(
    rank: int, found: FoundHit, searcher: Searcher, config: Config, request: Request
) -> dict[str, Any]:
    hit = found.hit
    owner = searcher.owner(hit.place)
    row = None
    if not owner:
        row = read_consistently(config.store_dir, lambda store: store.row(hit.place.session))
    turn = searcher.turn(hit.place)
    parts = {name: round(value, 4) for name, value in hit.parts}
    path = row.files[0].path if row is not None and row.files else None
    project = row.session.project if row is not None else found.stored.project
    return {
        "rank": rank,
        "score": round(hit.score, 4),
        "id": searcher.turn_id(hit.place),
        "project": last_name(project),
        "project_path": project,
        "source": row.session.source if row is not None else found.stored.source,
        "session_id": hit.place.session,
        "session_path": path,
        **({"owner": owner} if owner else {}),
        "is_gone": row.is_gone if row is not None else not owner,
        "machine": name_machine(read_machines(config.store_dir), row) or None,
        "title": row.session.title if row is not None else searcher.title(hit.place.session),
        "turn": hit.place.turn,
        "timestamp": iso_time(hit.started or None),
        "messages": _dialogue(turn, Include("tool" in request.types, "thinking" in request.types)),
        "context": list(_neighbours(searcher, hit.place)),
        **({"parts": parts} if request.mode in SEMANTIC_MODES else {}),
        "also_in": [{"session_id": p.session, "turn": p.turn} for p in hit.also_in],
    }


def _dialogue(turn: Turn | None, include: Include) -> list[dict[str, Any]]:
    """Return the messages of user and assistant."""
    messages = turn_messages(turn, include) if turn is not None else []
    return [message for message in messages if message["role"] != "system"]


def _neighbours(searcher: Searcher, place: Place) -> Iterator[dict[str, Any]]:
    """Yield the last message of the turn before and the first of the turn after."""
    for number, position in ((place.turn - 1, -1), (place.turn + 1, 0)):
        turn = searcher.turn(Place(place.session, number)) if number >= 0 else None
        if messages := _dialogue(turn, Include()):
            message = messages[position]
            yield {"turn": number, "role": message["role"], "content": message.get("content", "")}

"""Prints the result of a search in the format that the options select."""

from __future__ import annotations

from ccgrep.cli.context import Context
from ccgrep.cli.filter_options import parse_context
from ccgrep.cli.output_budget import Budget
from ccgrep.light_typing import TYPE_CHECKING
from ccgrep.light_typing import SimpleNamespace as Arguments
from ccgrep.ops.search import Result
from ccgrep.output import record_line
from ccgrep.search.request import Place, Request
from ccgrep.search.searcher import FoundHit, Searcher
from ccgrep.search.snippet import MatchedText

if TYPE_CHECKING:
    from collections.abc import Iterator


class SearchPrinter:
    """Prints results in the format that the options select."""

    def __init__(self, arguments: Arguments, context: Context, budget: Budget) -> None:
        self._arguments = arguments
        self._context = context
        self._budget = budget
        self._style = context.style_for(arguments.color)
        self._width: int = arguments.width or record_line.WIDTH

    def print(self, request: Request, result: Result) -> None:
        arguments = self._arguments
        if arguments.long and not self._prints_blocks():
            self._context.warn("--long has no effect here: only a terminal shows hits as blocks")
        if arguments.json or arguments.jsonl:
            self._print_json(request, result)
        elif arguments.files_with_matches or arguments.count:
            self._write(self._session_lines(result))
        elif self._prints_blocks():
            lines = self._block_lines(request, result, result.load_hits(request.types))
            self._context.write_lines(self._budget.records(lines))
        else:
            self._write(self._record_lines(result.load_hits(request.types), result.searcher))

    def print_sessions_without_hit(self, request: Request, result: Result) -> bool:
        """Print the ids, and return whether there are any."""
        hits = result.answer.hits
        matching = {place.session for hit in hits for place in (hit.place, *hit.also_in)}
        ids = [id for id in result.searcher.sessions(request.filters) if id not in matching]
        ids = ids[: self._arguments.limit or None]
        if not self._arguments.quiet:
            self._write(iter(self._names(ids, result.searcher)))
        return bool(ids)

    def _print_json(self, request: Request, result: Result) -> None:
        from ccgrep.output import search_json  # noqa: PLC0415 - imports msgspec

        found = result.load_hits(request.types)
        config = self._context.config()
        answer = search_json.search_fields(result, found, result.searcher, config, request)
        if self._arguments.jsonl:
            self._context.write_lines(self._budget.records(search_json.encode_hits(answer)))
            return
        count = len(answer["results"])
        document = self._budget.document(lambda n: search_json.encode_search(answer, n), count)
        self._context.write(document)

    def _prints_blocks(self) -> bool:
        """Return whether hits are printed as blocks: on a terminal, unless an option forbids it."""
        arguments = self._arguments
        context = (arguments.after_context, arguments.before_context, arguments.context)
        is_other = arguments.json or arguments.jsonl
        is_other = is_other or arguments.files_with_matches or arguments.count
        is_record = arguments.only_matching or arguments.null or arguments.width or any(context)
        return self._context.is_terminal and not (is_other or is_record)

    def _write(self, lines: Iterator[str]) -> None:
        end = "\0" if self._arguments.null else "\n"
        for line in self._budget.records(lines, end):
            self._context.write(line, end)

    def _names(self, ids: list[str], searcher: Searcher) -> list[str]:
        short = searcher.short_ids(ids)
        return [self._style.magenta(id if self._arguments.full_id else short[id]) for id in ids]

    def _session_lines(self, result: Result) -> Iterator[str]:
        """Yield the id of each session with a hit, the best first, and with -c its count."""
        counts: dict[str, int] = {}
        for hit in result.answer.hits:
            for place in (hit.place, *hit.also_in):
                counts[place.session] = counts.get(place.session, 0) + 1
        ids = list(counts)[: self._arguments.limit or None]
        for id, name in zip(ids, self._names(ids, result.searcher), strict=True):
            count = f"{self._style.cyan(':')}{counts[id]}" if self._arguments.count else ""
            yield f"{name}{count}"

    def _record_lines(self, hits: list[FoundHit], searcher: Searcher) -> Iterator[str]:
        arguments, style = self._arguments, self._style
        before, after = parse_context(arguments)
        printed = {found.hit.place for found in hits}
        for position, found in enumerate(hits):
            if position and (before or after):
                yield style.cyan("--")
            (session, turn), score = found.hit.place, found.hit.score
            id = session if arguments.full_id else found.short_id
            if arguments.only_matching:
                texts = [style.red(match) for match in record_line.match_lines(found)]
            else:
                texts = [record_line.hit_snippet(found, self._width, style)]
            yield from self._context_lines(id, found, range(-before, 0), printed, searcher)
            for text in texts:
                yield record_line.format_record(id, turn, score, text, style)
            yield from self._context_lines(id, found, range(1, after + 1), printed, searcher)

    def _context_lines(
        self, id: str, found: FoundHit, offsets: range, printed: set[Place], searcher: Searcher
    ) -> Iterator[str]:
        """Yield the turns around a hit. Skip hits and turns that were already printed."""
        for offset in offsets:
            place = found.hit.place._replace(turn=found.hit.place.turn + offset)
            stored = (
                searcher.stored_turn(place) if place.turn >= 0 and place not in printed else None
            )
            if stored is not None:
                printed.add(place)
                text = stored.prompt.strip() or stored.answer
                text = record_line.plain_snippet(text, self._width)
                yield record_line.format_record(id, place.turn, 0.0, text, self._style, "-")

    def _block_lines(self, request: Request, result: Result, hits: list[FoundHit]) -> Iterator[str]:
        from ccgrep.output import hit_block  # noqa: PLC0415 - only on a terminal

        searcher = result.searcher
        page = hit_block.Page(self._context.width, self._context.now_ms, self._style)
        format = hit_block.long_lines if self._arguments.long else hit_block.compact_lines
        for rank, found in enumerate(hits, 1):
            (session, turn) = found.hit.place
            before = searcher.stored_turn(Place(session, turn - 1)) if turn else None
            after = searcher.stored_turn(Place(session, turn + 1))
            title = searcher.title(session)
            block = hit_block.Block(
                rank,
                found,
                MatchedText("title", title, result.finder(title)),
                before.answer if before else "",
                after.prompt if after else "",
            )
            if rank > 1:
                yield ""
            yield from format(block, page)
        if hits:
            total = searcher.count_hits(request, result.answer)
            yield hit_block.summary_line(len(hits), total, result.seconds, self._style)

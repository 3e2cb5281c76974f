"""ccgrep search: find the turns that match."""

from __future__ import annotations

import os
import sys
import time

from ccgrep.cli.calling_session import find_callers, is_agent
from ccgrep.cli.context import Context
from ccgrep.cli.feedback import clear_progress_bar, make_feedback
from ccgrep.cli.filter_options import parse_context, parse_filters
from ccgrep.cli.output_budget import Budget
from ccgrep.config import Config
from ccgrep.errors import CcgrepError, UsageError
from ccgrep.light_typing import TYPE_CHECKING
from ccgrep.light_typing import SimpleNamespace as Arguments
from ccgrep.ops.search import Result, search
from ccgrep.output import record_line
from ccgrep.refresh.background import BackgroundRefresh
from ccgrep.search.default_mode import set_default_mode
from ccgrep.search.request import SEMANTIC_MODES, Place, Request
from ccgrep.search.searcher import FoundHit, Searcher, SearchOptions
from ccgrep.text import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ccgrep.kinds import Mode, TextKind

_SUGGESTIONS = 3


def run(arguments: Arguments, context: Context, refresh: BackgroundRefresh | None) -> int:
    config = context.config(model=arguments.model)
    request = _request(arguments, context, config)
    if request.mode in SEMANTIC_MODES:
        context.prepare_encoders()
    warn = make_feedback(arguments, context).warn
    options = SearchOptions(not arguments.no_index, refresh is not None, warn)
    try:
        result = search(config, request, options, refresh)
    finally:
        clear_progress_bar()
    _warn(result, context, arguments.quiet)
    if request.is_mode_chosen and result.answer.tier == "hybrid" and not arguments.quiet:
        context.warn("ranked by words and meaning; --words ranks by words alone")
    if arguments.explain and not arguments.quiet:
        _explain(result, context)
    budget = Budget(arguments.budget)
    printer = _Printer(arguments, context, budget)
    if arguments.files_without_match:
        code = 0 if printer.print_sessions_without_hit(request, result) else 1
    elif arguments.quiet:
        code = 0 if result.answer.hits else 1
    else:
        printer.print(request, result)
        code = 0 if result.answer.hits else 1
        if code and request.mode == "words" and context.is_terminal and not arguments.json:
            _print_similar(printer, context, config, request)
        if code and arguments.pattern and context.is_error_terminal:
            _suggest_command(arguments.pattern, context)
    if note := budget.note():
        context.warn(f"{note}, or `ccgrep show SESSION:TURN` to read one hit")
    return 2 if result.answer.is_cut_short else code


def _request(arguments: Arguments, context: Context, config: Config) -> Request:
    patterns = _patterns(arguments)
    filters = parse_filters(arguments, context, config)
    # --session may name the calling session.
    is_own = arguments.include_self or bool(arguments.session) or not is_agent(context.environment)
    if not is_own:
        callers = find_callers(context.environment, config)
        filters = filters._replace(except_ids=filters.except_ids | callers)
    mode = _mode(arguments)
    if arguments.files_without_match and (arguments.json or arguments.jsonl):
        raise UsageError("-L prints session ids, not JSON: leave out --json or --jsonl")
    timeout_s = config.timeout_s if arguments.timeout is None else _seconds(arguments.timeout)
    types: list[TextKind] = arguments.type or []
    request = Request(
        patterns=tuple(patterns),
        mode=mode,
        filters=filters,
        types=tuple(dict.fromkeys(types)),
        limit=_limit(arguments, mode, config),
        per_session=max(arguments.per_session or 0, 0),
        ignore_case=arguments.ignore_case,
        whole_word=arguments.word_regexp,
        invert=arguments.invert_match,
        finds_every_match=arguments.only_matching,
        excludes_own_output=not is_own,
        needs_all_words=arguments.all,
        needs_total=arguments.json,
        surfaces=tuple(dict.fromkeys(arguments.surface or ())),
        alpha=_alpha(arguments.alpha),
        deadline=time.monotonic() + timeout_s if timeout_s and not _is_ranked(mode) else None,
    )
    if mode != "words" or arguments.words or arguments.all or arguments.no_index:
        return request
    return set_default_mode(request, config.mode, config.store_dir)


def _mode(arguments: Arguments) -> Mode:
    if arguments.extended_regexp and arguments.fixed_strings:
        raise UsageError("-E and -F cannot be combined: use one of them")
    # -v and -o need exact matches.
    is_exact = arguments.fixed_strings or arguments.only_matching or arguments.invert_match
    is_ranked_by_meaning = arguments.semantic or arguments.hybrid
    for option in ("all", "words"):
        if getattr(arguments, option) and (
            is_ranked_by_meaning or is_exact or arguments.extended_regexp
        ):
            raise UsageError(
                f"--{option} cannot be combined with --semantic, --hybrid, -F, -E, -o or -v: "
                "use one of them"
            )
    if is_ranked_by_meaning:
        if is_exact or arguments.extended_regexp or (arguments.semantic and arguments.hybrid):
            raise UsageError(
                "--semantic and --hybrid cannot be combined with each other, -F, -E, -o or -v: "
                "use one of them"
            )
        return "semantic" if arguments.semantic else "hybrid"
    if arguments.extended_regexp:
        return "regex"
    return "literal" if is_exact else "words"


def _is_ranked(mode: Mode) -> bool:
    return mode not in ("literal", "regex")


def _alpha(text: str | None) -> float | None:
    if text is None:
        return None
    try:
        alpha = float(text)
    except ValueError:
        alpha = -1.0
    if not 0 <= alpha <= 1:
        raise UsageError(f"invalid value '{one_line(text)}' for --alpha: use a number from 0 to 1")
    return alpha


def _patterns(arguments: Arguments) -> list[str]:
    """Return the patterns of `-e`. The words of the command line join the last one."""
    patterns: list[str] = list(arguments.regexp or [])
    words = " ".join(arguments.pattern)
    if not patterns:
        return [words]
    if words:
        patterns[-1] = f"{patterns[-1]} {words}"
    return patterns


def _seconds(text: str) -> float:
    try:
        return max(float(text), 0.0)
    except ValueError:
        problem = f"invalid value '{one_line(text)}' for --timeout"
        raise UsageError(f"{problem}: use a number of seconds") from None


def _limit(arguments: Arguments, mode: Mode, config: Config) -> int:
    if arguments.quiet and not arguments.files_without_match:
        return 1
    if arguments.files_with_matches or arguments.files_without_match or arguments.count:
        return 0  # There the limit applies to sessions: see _session_lines.
    if arguments.limit is not None:
        return max(int(arguments.limit), 0)
    return config.limit if _is_ranked(mode) else 0


def _warn(result: Result, context: Context, is_quiet: bool) -> None:
    """Warn if the search timed out, or if some hits of a short query lack a word."""
    answer = result.answer
    if answer.is_cut_short:
        context.warn("the search timed out and is incomplete: use a longer --timeout")
    if answer.relaxed and not is_quiet:
        words = " ".join(" ".join(word.split()) for word in answer.relaxed)
        if answer.complete:
            first = f"the first {answer.complete} have" if answer.complete > 1 else "the first has"
            context.warn(f"{first} all words, the others some of: {words} (--all leaves them out)")
        else:
            context.warn(f"no turn has all words; these have some of: {words}")


def _explain(result: Result, context: Context) -> None:
    short = result.searcher.short_ids(hit.place.session for hit in result.answer.hits)
    for hit in result.answer.hits:
        parts = "".join(f"  {name} {value:.3f}" for name, value in hit.parts)
        place = f"{short[hit.place.session]}:{hit.place.turn}"
        context.warn(f"{place}  score {record_line.format_score(hit.score)}{parts}")


def _suggest_command(words: list[str], context: Context) -> None:
    """Suggest the command that the user may have meant by a pattern without hits."""
    from ccgrep.cli.suggest import suggest_command  # noqa: PLC0415 - only if nothing matched

    if question := suggest_command(words[0], words[1:]):
        context.warn(f"no turn matches{question}")


def _print_similar(printer: _Printer, context: Context, config: Config, request: Request) -> None:
    """Print semantic hits after a word search without hits, if turns are embedded."""
    if not os.path.isdir(os.path.join(config.store_dir, "vectors")):
        return
    context.prepare_encoders()
    request = request._replace(mode="semantic", limit=_SUGGESTIONS)
    try:
        result = search(config, request, SearchOptions())
    except CcgrepError:
        return  # The user did not ask for it, so a missing model is not an error.
    if result.answer.hits:
        context.warn("no turn has these words; the closest in meaning:")
        printer.print(request, result)


class _Printer:
    """Prints results in the format that the options select."""

    def __init__(self, arguments: Arguments, context: Context, budget: Budget) -> None:
        self._arguments = arguments
        self._context = context
        self._budget = budget
        self._style = context.style_for(arguments.color)
        self._width: int = arguments.width or record_line.WIDTH

    def print(self, request: Request, result: Result) -> None:
        arguments = self._arguments
        if arguments.json or arguments.jsonl:
            self._print_json(request, result)
        elif arguments.files_with_matches or arguments.count:
            self._write(self._session_lines(result))
        elif self._context.is_terminal and not self._is_record():
            lines = self._block_lines(result, result.found(request.types))
            self._context.write_lines(self._budget.records(lines))
        else:
            self._write(self._record_lines(result.found(request.types), result.searcher))

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

        found = result.found(request.types)
        config = self._context.config()
        answer = search_json.search_fields(result, found, result.searcher, config, request)
        if self._arguments.jsonl:
            self._context.write_lines(self._budget.records(search_json.encode_hits(answer)))
            return
        count = len(answer["results"])
        document = self._budget.document(lambda n: search_json.encode_search(answer, n), count)
        self._context.write(document)

    def _is_record(self) -> bool:
        """Return whether an option requires record lines even on a terminal."""
        arguments = self._arguments
        context = (arguments.after_context, arguments.before_context, arguments.context)
        return bool(arguments.only_matching or arguments.null or arguments.width or any(context))

    def _write(self, lines: Iterator[str]) -> None:
        end = "\0" if self._arguments.null else "\n"
        for line in self._budget.records(lines, end):
            sys.stdout.write(line + end)

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
            stored = searcher.stored(place) if place.turn >= 0 and place not in printed else None
            if stored is not None:
                printed.add(place)
                text = stored.prompt.strip() or stored.answer
                text = record_line.plain_snippet(text, self._width)
                yield record_line.format_record(id, place.turn, 0.0, text, self._style, "-")

    def _block_lines(self, result: Result, hits: list[FoundHit]) -> Iterator[str]:
        from ccgrep.output import hit_block  # noqa: PLC0415 - only on a terminal

        searcher, context = result.searcher, self._context
        for rank, found in enumerate(hits, 1):
            (session, turn) = found.hit.place
            before = searcher.stored(Place(session, turn - 1)) if turn else None
            after = searcher.stored(Place(session, turn + 1))
            title = searcher.title(session)
            near = hit_block.Neighbours(
                before.answer if before else "", after.prompt if after else ""
            )
            yield from hit_block.block_lines(
                rank, found, title, near, context.now_ms, context.width, self._style
            )
        if hits:
            yield from hit_block.summary_lines(len(hits), result.seconds, self._style)

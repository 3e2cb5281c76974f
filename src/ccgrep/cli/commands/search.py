"""ccgrep search: find the turns that match."""

from __future__ import annotations

import os
import time

from ccgrep.cli.calling_session import find_callers, is_agent
from ccgrep.cli.context import Context
from ccgrep.cli.feedback import clear_progress_bar, make_embedding_bar, make_feedback
from ccgrep.cli.filter_options import parse_filters
from ccgrep.cli.output_budget import Budget
from ccgrep.cli.search_printer import SearchPrinter
from ccgrep.config import Config
from ccgrep.errors import CcgrepError, UsageError
from ccgrep.light_typing import TYPE_CHECKING
from ccgrep.light_typing import SimpleNamespace as Arguments
from ccgrep.ops.search import Result, search
from ccgrep.output import record_line
from ccgrep.refresh.background import BackgroundRefresh
from ccgrep.search.default_mode import limit_to_surfaces, set_best_mode, set_default_mode
from ccgrep.search.request import SEMANTIC_MODES, Request
from ccgrep.search.searcher import SearchOptions
from ccgrep.text import one_line

if TYPE_CHECKING:
    from ccgrep.kinds import Mode, TextKind

_SUGGESTIONS = 3


def run(
    arguments: Arguments,
    context: Context,
    refresh: BackgroundRefresh | None,
    printer_type: type[SearchPrinter] = SearchPrinter,
) -> int:
    config = context.config(model=arguments.model)
    request = _request(arguments, context, config)
    if request.mode in SEMANTIC_MODES:
        context.prepare_encoders()
    warn = make_feedback(arguments, context).warn
    on_embed = make_embedding_bar(arguments, context)
    options = SearchOptions(not arguments.no_index, refresh is not None, warn, on_embed)
    result = _search(config, request, options, arguments, refresh)
    _warn(result, context, arguments.quiet)
    if request.is_mode_chosen and result.answer.tier == "hybrid" and not arguments.quiet:
        context.warn("ranked by words and meaning; --words ranks by words alone")
    if arguments.explain and not arguments.quiet:
        _explain(result, context)
    budget = Budget(arguments.budget)
    printer = printer_type(arguments, context, budget)
    is_miss = not (result.answer.hits or result.answer.is_cut_short)
    if arguments.files_without_match:
        code = 0 if printer.print_sessions_without_hit(request, result) else 1
    elif arguments.quiet:
        code = 0 if result.answer.hits else 1
    else:
        if is_miss:
            result = _add_near_miss(result, request)
        printer.print(request, result)
        code = 0 if result.answer.hits else 1
        if is_miss:
            _explain_miss(arguments, context, request, result, printer)
        else:
            _warn_of_window(result, request, config, context)
    if note := budget.note():
        context.warn(f"{note}, or `ccgrep show SESSION:TURN` to read one hit")
    return 2 if result.answer.is_cut_short else code


def _search(
    config: Config,
    request: Request,
    options: SearchOptions,
    arguments: Arguments,
    refresh: BackgroundRefresh | None,
) -> Result:
    """Search this machine's store, or with `-R` the places that it names."""
    try:
        if not arguments.remote:
            if arguments.owner:
                raise UsageError("--owner needs -R: only a team's server knows who pushed a turn")
            return search(config, request, options, refresh)
        from ccgrep.cli.team_search import search_team  # noqa: PLC0415 - only with -R

        return search_team(config, request, options, arguments, refresh)
    finally:
        clear_progress_bar()


def _request(arguments: Arguments, context: Context, config: Config) -> Request:
    patterns = _patterns(arguments)
    filters = parse_filters(arguments, context, config)
    # --session may name the calling session.
    is_own = arguments.include_self or bool(arguments.session) or not is_agent(context.environment)
    if not is_own:
        filters = filters._replace(except_ids=find_callers(context.environment, config))
    mode = _mode(arguments)
    timeout_s = config.timeout_s if arguments.timeout is None else _seconds(arguments.timeout)
    types: list[TextKind] = arguments.type or []
    request = Request(
        patterns=tuple(patterns),
        mode=mode,
        filters=filters,
        types=tuple(dict.fromkeys(types)),
        limit=_limit(arguments, mode, config),
        per_session=max(arguments.per_session or 0, 0),
        order=arguments.sort or "score",
        ignore_case=arguments.ignore_case,
        whole_word=arguments.word_regexp,
        invert=arguments.invert_match,
        finds_every_match=arguments.only_matching,
        excludes_own_output=not is_own,
        needs_all_words=arguments.all,
        needs_total=arguments.json,
        surfaces=tuple(dict.fromkeys(arguments.surface or ())),
        alpha=_alpha(arguments.alpha),
        deadline=time.process_time() + timeout_s if timeout_s else None,
    )
    is_fixed = mode != "words" or arguments.words or arguments.all or arguments.no_index
    is_fixed = is_fixed or bool(arguments.remote)
    # By meaning, every turn is a hit: in time order, ccgrep does not choose that by itself.
    is_fixed = is_fixed or (request.order != "score" and config.mode == "auto")
    if not is_fixed:
        set_mode = set_best_mode if is_agent(context.environment) else set_default_mode
        request = set_mode(request, config.mode, config.store_dir)
    return request if request.mode in SEMANTIC_MODES else limit_to_surfaces(request)


def _mode(arguments: Arguments) -> Mode:
    """Return the mode that the options name. `conflicts` excludes that they name two."""
    if arguments.semantic:
        return "semantic"
    if arguments.hybrid:
        return "hybrid"
    if arguments.extended_regexp:
        return "regex"
    # -v and -o need exact matches.
    is_exact = arguments.fixed_strings or arguments.only_matching or arguments.invert_match
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
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds < float("inf"):
        problem = f"invalid value '{one_line(text)}' for --timeout"
        raise UsageError(f"{problem}: use a number of seconds, or 0 for no limit")
    return seconds


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


def _warn_of_window(result: Result, request: Request, config: Config, context: Context) -> None:
    """Warn that a search by meaning could not compare turns outside the embedding window."""
    embedded = result.coverage.embedded
    if embedded is None or not embedded.outside or request.is_mode_chosen:
        return  # In a mode that ccgrep chose, words find them.
    turns = "1 turn" if embedded.outside == 1 else f"{embedded.outside:,} turns"
    context.warn(
        f"{turns} outside the embedding window ({config.embed_window_days} days) can be found by "
        "words only: run `ccgrep index --embed-all`"
    )


def _explain(result: Result, context: Context) -> None:
    short = result.searcher.short_ids(hit.place.session for hit in result.answer.hits)
    for hit in result.answer.hits:
        parts = "".join(f"  {name} {value:.3f}" for name, value in hit.parts)
        place = f"{short[hit.place.session]}:{hit.place.turn}"
        context.warn(f"{place}  score {record_line.format_score(hit.score)}{parts}")


def _add_near_miss(result: Result, request: Request) -> Result:
    from ccgrep.search.near_miss import find_near_miss  # noqa: PLC0415 - only if nothing matched

    miss = find_near_miss(result.searcher, request, result.answer, result.coverage.embedded)
    return result._replace(near_miss=miss)


def _explain_miss(
    arguments: Arguments, context: Context, request: Request, result: Result, printer: SearchPrinter
) -> None:
    """Say in one line what was searched and what nearly matched; then print similar turns."""
    from ccgrep.output.near_miss_text import near_miss_text  # noqa: PLC0415 - nothing matched

    assert result.near_miss is not None
    line = near_miss_text(result.near_miss)
    if arguments.pattern and context.is_error_terminal:
        from ccgrep.cli.suggest import suggest_command  # noqa: PLC0415 - nothing matched

        line += suggest_command(arguments.pattern[0], arguments.pattern[1:])
    similar = None
    is_here = not arguments.remote
    if request.mode == "words" and context.is_terminal and is_here and not arguments.json:
        similar = _search_similar(context, context.config(model=arguments.model), request)
    if similar is None:
        context.warn(line)
    else:
        context.warn(f"{line}; the closest in meaning:")
        printer.print(request, similar)


def _search_similar(context: Context, config: Config, request: Request) -> Result | None:
    """Return the turns that are closest in meaning, or None if there are none."""
    if not os.path.isdir(os.path.join(config.store_dir, "vectors")):
        return None
    context.prepare_encoders()
    request = request._replace(mode="semantic", limit=_SUGGESTIONS)
    try:
        result = search(config, request, SearchOptions())
    except CcgrepError:
        return None  # The user did not ask for it, so a missing model is not an error.
    return result if result.answer.hits else None

"""ccgrep show: print a session or a turn as a conversation."""

import sys
from collections.abc import Callable, Iterator
from types import SimpleNamespace

from msgspec.structs import replace

from ccgrep.cli.context import Context
from ccgrep.cli.feedback import finish_refresh
from ccgrep.cli.filter_options import parse_context
from ccgrep.cli.output_budget import Budget
from ccgrep.cli.pager import page
from ccgrep.config import Config
from ccgrep.errors import UsageError
from ccgrep.ops import save_file
from ccgrep.ops.show import Conversation, add_commits, read_blob, show
from ccgrep.output.conversation_markdown import file_name, markdown_lines
from ccgrep.output.conversation_text import LOST, conversation_lines
from ccgrep.output.json_document import encode, encode_document
from ccgrep.output.session_json import conversation_fields
from ccgrep.output.turn_parts import Include
from ccgrep.refresh.background import BackgroundRefresh
from ccgrep.text import one_line


def run(arguments: SimpleNamespace, context: Context, refresh: BackgroundRefresh | None) -> int:
    config = context.config()
    around = parse_context(arguments)
    refs = arguments.ref
    finish_refresh(refresh)
    if arguments.remote:
        from ccgrep.cli.team_search import show_team  # noqa: PLC0415 - only with -R

        shown = (show_team(config, arguments, ref, *around) for ref in refs)
        return _print(shown, arguments, context, config)
    if len(refs) == 1 and (content := read_blob(config, refs[0])) is not None:
        return _write_blob(content, context)
    shown = (show(config, ref, *around, arguments.limit or 0) for ref in refs)
    if arguments.commits:
        shown = (add_commits(config, one) for one in shown)
    return _print(shown, arguments, context, config)


def _print(
    shown: Iterator[Conversation], arguments: SimpleNamespace, context: Context, config: Config
) -> int:
    if arguments.save:
        include = Include(arguments.tools, arguments.thinking)
        for one in shown:
            text = "\n".join(markdown_lines([one], include)) + "\n"
            context.write(one_line(save_file.save_recall(config, file_name(one), text)))
        return 0
    if arguments.raw:
        return _print_raw(shown, context)
    budget = Budget(arguments.budget)
    if arguments.json:
        for one in shown:
            context.write(budget.document(_json(one, arguments), len(one.turns)))
    else:
        pager = "" if arguments.no_pager else config.pager
        _page(shown, arguments, context, pager, budget)
    return 0


def _write_blob(content: bytes, context: Context) -> int:
    if context.is_terminal:
        raise UsageError("this is an image or document: redirect the output to a file")
    sys.stdout.buffer.write(content)
    return 0


def _json(shown: Conversation, arguments: SimpleNamespace) -> Callable[[int], str]:
    """Return a function that formats the session's first turns as JSON."""

    def make(count: int) -> str:
        part = replace(shown, turns=shown.turns[:count])
        left = len(shown.turns) - count
        fields = conversation_fields(part, Include(arguments.tools, arguments.thinking))
        return encode_document({**fields, **({"left_out": left} if left else {})})

    return make


def _page(
    shown: Iterator[Conversation],
    arguments: SimpleNamespace,
    context: Context,
    pager: str,
    budget: Budget,
) -> None:
    # A cut line could end inside a color sequence.
    style = context.style_for("never" if arguments.budget is not None else arguments.color)
    width = context.width if context.is_terminal else None
    continuations: list[str] = []

    def lines() -> Iterator[str]:
        for position, one in enumerate(shown):
            if position:
                yield ""
            turns: list[int] = []
            is_full = arguments.full
            include = Include(arguments.tools or is_full, arguments.thinking, is_full)
            whole = conversation_lines(one, include, style, turns.append, width)
            for line in whole:
                yield line
                if budget.left_out and not continuations:
                    continuations.append(_continuation(one, turns))

    page(budget.text(lines()), context, pager)
    if note := budget.note("".join(continuations)):
        context.warn(note)


def _continuation(shown: Conversation, turns: list[int]) -> str:
    """Return how to continue reading after a cut in the last of these turns."""
    if shown.session is None or not turns:
        return ""
    last = shown.turns[-1].number
    after = f" -A {last - turns[-1]}" if last > turns[-1] else ""
    return f" from turn {turns[-1]} on (`ccgrep show {shown.session.id}:{turns[-1]}{after}`)"


def _print_raw(shown: Iterator[Conversation], context: Context) -> int:
    """Print each turn's object as stored, one per line."""
    lost = 0
    for one in shown:
        for place in one.turns:
            if place.turn is None:
                lost += 1
                context.warn(f"turn {place.number}: {LOST}")
            else:
                context.write(encode(place.turn))
    return 2 if lost else 0

"""ccgrep show: a turn or a session as conversation."""

from collections.abc import Iterator
from types import SimpleNamespace

from ccgrep.cli.context import Context, refs_from
from ccgrep.cli.filters import context_of
from ccgrep.cli.pager import page
from ccgrep.errors import UsageError
from ccgrep.ops import saving, sessions
from ccgrep.ops.sessions import Shown
from ccgrep.output import human, json, markdown
from ccgrep.text import one_line

_FORMS = ("json", "raw", "save")


def run(arguments: SimpleNamespace, context: Context) -> int:
    if sum(bool(getattr(arguments, form)) for form in _FORMS) > 1:
        raise UsageError("--json, --raw and --save exclude each other")
    config = context.config()
    around = context_of(arguments)
    shown = (sessions.show(config, ref, *around) for ref in refs_from(arguments.ref))
    if arguments.save:
        wanted = markdown.With(arguments.tools, arguments.thinking)
        for one in shown:
            text = "\n".join(markdown.document([one], wanted)) + "\n"
            context.write(one_line(saving.save_recall(config, markdown.file_name(one), text)))
        return 0
    if arguments.raw:
        return _print_raw(shown, context)
    if arguments.json:
        for one in shown:
            context.write(json.dumps(json.shown(one, arguments.tools, arguments.thinking)))
        return 0
    pager = "" if arguments.no_pager else config.pager
    page(_lines(shown, arguments, context), context, pager)
    return 0


def _lines(shown: Iterator[Shown], arguments: SimpleNamespace, context: Context) -> Iterator[str]:
    style = context.style_for(arguments.color)
    for position, one in enumerate(shown):
        if position:
            yield ""
        yield from human.show_lines(one, arguments.tools, arguments.thinking, style)


def _print_raw(shown: Iterator[Shown], context: Context) -> int:
    """Each turn's object as it is stored, one a line."""
    lost = 0
    for one in shown:
        for place in one.places:
            if place.turn is None:
                lost += 1
                context.say(f"ccgrep: turn {place.number}: {human.LOST}")
            else:
                context.write(json.raw(place.turn))
    return 2 if lost else 0

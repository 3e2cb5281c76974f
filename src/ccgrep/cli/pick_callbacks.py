"""`ccgrep __pick ACTION …`: the commands that fzf runs while `ccgrep pick` is open.

fzf passes the query and the selected line as single words, which it quotes itself. The filters are
in a private directory that CCGREP_PICK names. So no text of the user or of a transcript becomes
part of a shell command.
"""

import contextlib
import io
import os
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from types import SimpleNamespace

from ccgrep.cli.context import Context
from ccgrep.cli.flags import COMMANDS, FILTERS, PICK_LIMIT, TYPE
from ccgrep.cli.parse import parse, value_name
from ccgrep.errors import CcgrepError
from ccgrep.output import preview
from ccgrep.output.pick_row import SEPARATOR, record_of
from ccgrep.settings import home_dir
from ccgrep.text import one_line

DIRECTORY = "CCGREP_PICK"
_LIMIT = 100
_HEADERS = {
    "--words": "by words   ^T by meaning  ^S star  ^R resume  ^Y copy REF  ^O open in browser",
    "--semantic": "by meaning   ^T by words  ^S star  ^R resume  ^Y copy REF  ^O open in browser",
}
_OPENERS = ("xdg-open", "open", "wslview")
_COPIERS = (
    ("TMUX", ("tmux", "load-buffer", "-w", "-")),
    ("WAYLAND_DISPLAY", ("wl-copy",)),
    ("DISPLAY", ("xclip", "-selection", "clipboard")),
    ("", ("pbcopy",)),
    ("", ("clip.exe",)),
)
"""The commands that copy to a clipboard, and the variable that shows that they work here."""


def run(words: list[str], context: Context) -> int:
    action, *words = words
    if action == "hits":
        context.write_lines(_hits(context, words[0]))
    elif action == "toggle":
        state = State(context.environment[DIRECTORY])
        other = "--semantic" if state.mode == "--words" else "--words"
        state.save(state.options, other)
    elif action == "preview" and words[1]:
        context.write_lines(_preview(context, words[0], words[1]))
    elif action == "star":
        _toggle_mark(context, record_ref(words[0]))
    elif action == "copy":
        _copy(context, record_ref(words[0]))
    elif action == "open":
        _open(context, record_ref(words[0]))
    return 0


class State:
    """The state of a running `ccgrep pick`: the mode and the options in a file, NUL-terminated."""

    def __init__(self, directory: str) -> None:
        self._path = os.path.join(directory, "state")
        self.mode, self.options = "--words", []
        if os.path.exists(self._path):
            with open(self._path, encoding="utf-8") as file:
                self.mode, *self.options = file.read().split("\0")[:-1]

    def save(self, options: list[str], mode: str) -> None:
        with open(self._path, "w", encoding="utf-8") as file:
            file.write("".join(f"{word}\0" for word in (mode, *options)))


def filter_words(arguments: SimpleNamespace) -> list[str]:
    """Return the filters of `pick` as words of a search command line."""
    words = []
    for option in (TYPE, *FILTERS, PICK_LIMIT):
        value = getattr(arguments, value_name(option))
        name = option.names[-1]
        if not option.value:
            words += [name] if value else []
        elif value is not None:
            words += [f"{name}={v}" for v in (value if option.is_repeatable else [value])]
    return words


def record_ref(row: str) -> str:
    """Return SESSION:TURN of a row."""
    return ":".join(row.split(":")[:2])


def _hits(context: Context, query: str) -> Iterator[str]:
    """Yield a header and rows: the hits, or the most recent turns without a query."""
    state = State(context.environment[DIRECTORY])
    output, errors = io.StringIO(), io.StringIO()
    header = _HEADERS[state.mode]
    try:
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors):
            if query.strip():
                _print_hits(context, state, query)
            else:
                _print_recent(context, state)
    except CcgrepError as error:
        errors.write(one_line(str(error)))
    if messages := errors.getvalue().splitlines():
        header = f"{header.partition(' ' * 3)[0]}: {messages[-1].removeprefix('ccgrep: ')}"
    yield f"{SEPARATOR}{header}"
    yield from output.getvalue().splitlines()


def _print_hits(context: Context, state: State, query: str) -> None:
    from ccgrep.cli.commands import search  # noqa: PLC0415 - only with a query
    from ccgrep.cli.pick_printer import PickPrinter  # noqa: PLC0415

    words = ["-n", str(_LIMIT), *state.options, state.mode]
    words += ["--color=always", "--no-refresh", "-e", query]
    search.run(parse(COMMANDS["search"], words), context, None, PickPrinter)


def _print_recent(context: Context, state: State) -> None:
    from ccgrep.cli.filter_options import parse_filters  # noqa: PLC0415 - only without a query
    from ccgrep.cli.pick_printer import pick_page  # noqa: PLC0415
    from ccgrep.ops.marks import marked_places  # noqa: PLC0415
    from ccgrep.ops.pick import recent_turns  # noqa: PLC0415
    from ccgrep.output import pick_row, record_line  # noqa: PLC0415
    from ccgrep.search.snippet import make_snippet  # noqa: PLC0415

    arguments = parse(COMMANDS["search"], state.options)
    config = context.config()
    page = pick_page(context)
    filters = parse_filters(arguments, context, config, documents="exclude")
    limit = _LIMIT if arguments.limit is None else arguments.limit
    marked = marked_places(config)
    for turn in recent_turns(config, filters, limit):
        text = record_line.plain_snippet(turn.text, record_line.WIDTH)
        record = record_line.format_record(turn.short_id, turn.turn, 0.0, text, page.style)
        parts = make_snippet(turn.text, (), page.text_width)
        is_marked = (turn.session, turn.turn) in marked
        row = pick_row.format_row(record, turn.project, turn.started, parts, page, is_marked)
        context.write(row)


def _preview(context: Context, query: str, row: str) -> Iterator[str]:
    """Yield the turn of a row, scrolled to the match."""
    from ccgrep.ops.pick import make_finder  # noqa: PLC0415 - only for the preview
    from ccgrep.ops.show import show  # noqa: PLC0415
    from ccgrep.output.conversation_text import conversation_lines  # noqa: PLC0415
    from ccgrep.output.turn_parts import Include  # noqa: PLC0415

    snippet = ":".join(record_of(row).split(":")[3:])
    style, config = context.style_for("always"), context.config()
    find = make_finder(config, query)
    shown = show(config, record_ref(row))
    window = _preview_window(context)

    def read_rows(include: Include) -> list[str]:
        # Wrapped here: fzf breaks rows within words, and continues them in the first column.
        return preview.split_rows(conversation_lines(shown, include, style, width=window.width))

    rows = read_rows(Include())
    match = preview.find_match(rows, snippet, find)
    if match is None:
        # The match may be in a tool call or in thinking.
        rows = read_rows(Include(True, True, True))
        match = preview.find_match(rows, snippet, find)
    if match is None and snippet:
        yield preview.highlight(snippet, find, style)
        yield ""
    for line in preview.scroll_to(rows, match, window, find):
        yield preview.highlight(line, find, style)


def _preview_window(context: Context) -> preview.Window:
    """Return the size that fzf tells its commands."""
    size = (context.environment.get(f"FZF_PREVIEW_{name}", "") for name in ("COLUMNS", "LINES"))
    given = (int(text) if text.isdigit() and int(text) else 0 for text in size)
    default = preview.Window()
    return preview.Window(*(value or usual for value, usual in zip(given, default, strict=True)))


def _toggle_mark(context: Context, ref: str) -> None:
    from ccgrep.ops.marks import toggle  # noqa: PLC0415 - only for Ctrl-S

    toggle(context.config(), ref)


def _copy(context: Context, ref: str) -> None:
    """Copy to the clipboard with a program or, if there is none, with an escape sequence."""
    for variable, command in _COPIERS:
        if (not variable or context.environment.get(variable)) and shutil.which(command[0]):
            subprocess.run(command, input=ref.encode(), check=False, timeout=5)
            return
    import base64  # noqa: PLC0415 - only for OSC 52

    with open("/dev/tty", "wb", buffering=0) as terminal:
        terminal.write(b"\x1b]52;c;" + base64.b64encode(ref.encode()) + b"\x07")


def _open(context: Context, ref: str) -> None:
    """Export the session as an HTML page and open it in a browser."""
    from ccgrep.cli.commands import export  # noqa: PLC0415 - only for Ctrl-O

    environment = context.environment
    home = home_dir(environment)
    cache = environment.get("XDG_CACHE_HOME") or os.path.join(home, ".cache")
    directory = os.path.join(cache, "ccgrep", "pages")
    os.makedirs(directory, exist_ok=True)
    session = ref.partition(":")[0]
    path = os.path.join(directory, f"{session}.html")
    export.run(
        parse(COMMANDS["export"], [session, "--tools", f"--output={path}"]),
        context,
        None,
    )
    browser = shlex.split(environment.get("BROWSER", "").partition(":")[0])
    opener = browser or [program for program in _OPENERS if shutil.which(program)][:1]
    if opener:
        null = subprocess.DEVNULL
        subprocess.Popen(
            [*opener, path], stdin=null, stdout=null, stderr=null, start_new_session=True
        )

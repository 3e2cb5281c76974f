"""`ccgrep __pick WHAT …`: what fzf calls while `ccgrep pick` runs.

fzf hands over what was typed and the chosen line as single words, quoted by fzf itself; what the
search is limited to lies in a private directory that CCGREP_PICK names. So no text of a user or
of a transcript is ever part of a shell command.
"""

from __future__ import annotations

import contextlib
import io
import os
import shlex
import shutil
import subprocess
from types import SimpleNamespace

from ccgrep.cli.context import Context
from ccgrep.cli.flags import COMMANDS, FILTERS, TYPE
from ccgrep.cli.parse import parse, value_name
from ccgrep.errors import CcgrepError
from ccgrep.light_typing import TYPE_CHECKING
from ccgrep.text import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator

DIRECTORY = "CCGREP_PICK"
_MOST = "100"
_HEADERS = {
    "": "by words   ^T by meaning  ^R resume  ^Y copy the ref  ^O page in the browser",
    "--semantic": "by meaning   ^T by words  ^R resume  ^Y copy the ref  ^O page in the browser",
}
_OPENERS = ("xdg-open", "open", "wslview")
_COPIERS = (
    ("TMUX", ("tmux", "load-buffer", "-w", "-")),
    ("WAYLAND_DISPLAY", ("wl-copy",)),
    ("DISPLAY", ("xclip", "-selection", "clipboard")),
    ("", ("pbcopy",)),
    ("", ("clip.exe",)),
)
"""What puts text onto a clipboard, and the variable that says it may be used here."""


def run(typed: list[str], context: Context) -> int:
    what, *words = typed
    if what == "hits":
        context.write_lines(hits(context, words[0]))
    elif what == "toggle":
        state = State(context.environment[DIRECTORY])
        state.save(state.options, "" if state.mode else "--semantic")
    elif what == "preview" and words[1]:
        context.write_lines(preview(context, words[0], words[1]))
    elif what == "copy":
        _copy(context, ref_of(words[0]))
    elif what == "open":
        _open(context, ref_of(words[0]))
    return 0


class State:
    """What a running `ccgrep pick` remembers: the mode, then the options, each ended by NUL."""

    def __init__(self, directory: str) -> None:
        self._path = os.path.join(directory, "state")
        self.mode, self.options = "", []
        if os.path.exists(self._path):
            with open(self._path, encoding="utf-8") as file:
                self.mode, *self.options = file.read().split("\0")[:-1]

    def save(self, options: list[str], mode: str) -> None:
        with open(self._path, "w", encoding="utf-8") as file:
            file.write("".join(f"{word}\0" for word in (mode, *options)))


def options_of(arguments: SimpleNamespace) -> list[str]:
    """The filters that were given, as words for a search."""
    words = []
    for option in (TYPE, *FILTERS):
        value = getattr(arguments, value_name(option))
        name = option.names[-1]
        if option.kind == "flag":
            words += [name] if value else []
        elif value is not None:
            words += [f"{name}={one}" for one in (value if option.kind == "list" else [value])]
    return words


def ref_of(line: str) -> str:
    """SESSION:TURN of a record line."""
    return ":".join(line.split(":")[:2])


def hits(context: Context, query: str) -> Iterator[str]:
    """A header, and the hits as record lines; without a query the most recent turns."""
    state = State(context.environment[DIRECTORY])
    made, said = io.StringIO(), io.StringIO()
    header = _HEADERS[state.mode]
    try:
        with contextlib.redirect_stdout(made), contextlib.redirect_stderr(said):
            if query.strip():
                _search(context, state, query)
            else:
                _print_recent(context, state)
    except CcgrepError as error:
        said.write(one_line(str(error)))
    if notes := said.getvalue().splitlines():
        header = f"{header.partition(' ' * 3)[0]}: {notes[-1].removeprefix('ccgrep: ')}"
    yield header
    yield from made.getvalue().splitlines()


def _search(context: Context, state: State, query: str) -> None:
    from ccgrep.cli.commands import search  # noqa: PLC0415 - only when something was typed

    words = [*state.options, *([state.mode] if state.mode else [])]
    shape = ["--color=always", "--no-refresh", "-n", _MOST, "-e", query]
    search.run(parse(COMMANDS["search"], [*words, *shape]), context, None)


def _print_recent(context: Context, state: State) -> None:
    from ccgrep.cli.filter_options import filters_of  # noqa: PLC0415 - only for the first screen
    from ccgrep.ops.pick import recent_turns  # noqa: PLC0415
    from ccgrep.output import record_line  # noqa: PLC0415

    arguments = parse(COMMANDS["search"], state.options)
    config = context.config()
    style = context.style_for("always")
    for one in recent_turns(config, filters_of(arguments, context, config)):
        text = record_line.plain_snippet(one.prompt, record_line.WIDTH)
        context.write(record_line.format_record(one.short_id, one.turn, 0.0, text, style))


def preview(context: Context, query: str, line: str) -> Iterator[str]:
    """The turn of a record line, the match in view."""
    from ccgrep.ops.show import show  # noqa: PLC0415 - not for hits
    from ccgrep.output import preview as window  # noqa: PLC0415
    from ccgrep.output.conversation_text import conversation_lines  # noqa: PLC0415
    from ccgrep.output.include import Include  # noqa: PLC0415

    height = context.environment.get("FZF_PREVIEW_LINES", "")
    snippet = ":".join(line.split(":")[3:])
    style = context.style_for("always")
    shown = show(context.config(), ref_of(line))
    rows = window.split_rows(conversation_lines(shown, Include(), style))
    match = window.find_snippet(rows, snippet)
    if match is None:
        # It may be in what a tool was given, or in thinking.
        rows = window.split_rows(conversation_lines(shown, Include(True, True), style))
        match = window.find_snippet(rows, snippet)
    if match is None and snippet:
        yield window.highlight_words(snippet, query, style)
        yield ""
    for row in window.scroll_to(rows, match, int(height) if height.isdigit() else 24):
        yield window.highlight_words(row, query, style)


def _copy(context: Context, ref: str) -> None:
    """Onto the clipboard, by a program or, where there is none, by the terminal itself."""
    for variable, command in _COPIERS:
        if (not variable or context.environment.get(variable)) and shutil.which(command[0]):
            subprocess.run(command, input=ref.encode(), check=False, timeout=5)
            return
    import base64  # noqa: PLC0415 - only for OSC 52

    with open("/dev/tty", "wb", buffering=0) as terminal:
        terminal.write(b"\x1b]52;c;" + base64.b64encode(ref.encode()) + b"\x07")


def _open(context: Context, ref: str) -> None:
    """Writes the session as a page, and has it opened."""
    from ccgrep.cli.commands import export  # noqa: PLC0415 - only for this

    environment = context.environment
    home = environment.get("HOME") or os.path.expanduser("~")
    cache = environment.get("XDG_CACHE_HOME") or os.path.join(home, ".cache")
    directory = os.path.join(cache, "ccgrep", "pages")
    os.makedirs(directory, exist_ok=True)
    session = ref.partition(":")[0]
    path = os.path.join(directory, f"{session}.html")
    wanted = SimpleNamespace(ref=[session], format="html", output=path, tools=True, thinking=False)
    export.run(wanted, context)
    browser = shlex.split(environment.get("BROWSER", "").partition(":")[0])
    opener = browser or [program for program in _OPENERS if shutil.which(program)][:1]
    if opener:
        nothing = subprocess.DEVNULL
        subprocess.Popen(
            [*opener, path], stdin=nothing, stdout=nothing, stderr=nothing, start_new_session=True
        )

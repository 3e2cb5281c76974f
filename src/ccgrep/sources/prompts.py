"""Separates the prompts that a person typed from the text that Claude Code adds to them.

Most of the added text carries no flag. The rules therefore look at the first characters of a
`user` text. They were derived by counting real transcripts.
"""

from typing import Literal, NamedTuple

from ccgrep.kinds import NoteKind
from ccgrep.lazy_re import compile_pattern


class Segment(NamedTuple):
    """A classified part of a user text.

    A `prompt` begins a turn. A `command` does so if the agent answers it. `output` was printed by
    a local command. `drop` carries no information. The other kinds become notes.
    """

    kind: Literal["prompt", "command", "output", "drop"] | NoteKind
    text: str


_CONTEXT_BLOCK = (
    r"(?s)\s*<(system-reminder|ide_opened_file|ide_selection|ide_diagnostics|user-prompt-submit-hook|fork-boilerplate)>"
    r"(.*?)</\1>\s*"
)
_TAG = r"(?s)<{0}>(.*?)</{0}>"
_COMMAND_NAME = _TAG.format("command-name")
_COMMAND_ARGS = _TAG.format("command-args")
_CALL_ID = _TAG.format("tool-use-id")
_BASH_INPUT = _TAG.format("bash-input")
_OUTPUT_TAG = r"</?(?:local-command-std(?:out|err)|bash-std(?:out|err))>"

_NOTES: tuple[tuple[str, Literal["output", "drop"] | NoteKind], ...] = (
    ("<local-command-stdout>", "output"),
    ("<local-command-stderr>", "output"),
    ("<bash-stdout>", "command"),
    ("<bash-stderr>", "command"),
    ("Unknown skill", "command"),
    ("Unknown slash command", "command"),
    ("Unknown command", "command"),
    ("<local-command-caveat>", "drop"),
    ("Caveat: The messages below", "drop"),
    ("<task-notification>", "notification"),
    ("<teammate-message", "notification"),
    ("<cross-session-message", "notification"),
    ("<bash-notification>", "notification"),
    ("[Request interrupted by user", "interrupted"),
    ("<observed_from_primary_session>", "context"),
    ("This session is being continued from a previous conversation", "summary"),
)
_DROPPED_META = ("[Image: source:", "Continue from where you left off.", "Caveat: ")
_LOCAL_COMMANDS = frozenset(
    "/add-dir /agents /clear /color /compact /config /effort /export /fast /mcp /memory /model"
    " /permissions /plugin /rename /resume /rewind /theme /vim".split()
)
_MACHINE_PROMPTS = ("[SUGGESTION MODE", "Your task is to create a detailed summary")


def is_machine_prompt(text: str) -> bool:
    """Return whether the client itself wrote a sub-agent's prompt."""
    return text.strip() == "Warmup" or text.startswith(_MACHINE_PROMPTS)


def extract_call_id(notification: str) -> str:
    """Return the id of the call that a notification reports on, or an empty string."""
    match = compile_pattern(_CALL_ID).search(notification)
    return match.group(1).strip() if match else ""


def split_user_text(text: str) -> list[Segment]:
    """Split a user text without `isMeta` into segments, context first."""
    segments: list[Segment] = []
    while text.lstrip().startswith("<") and (block := compile_pattern(_CONTEXT_BLOCK).match(text)):
        segments.append(Segment("context", block.group(2).strip()))
        text = text[block.end() :]
    if text.strip():
        segments.append(_classify(text))
    return segments


def split_meta_text(text: str) -> list[Segment]:
    """Split a user text with `isMeta`, which the client marked as its own."""
    first = split_user_text(text)[:1]
    if first and first[0].kind == "prompt":
        is_dropped = text.startswith(_DROPPED_META)
        return [Segment("drop" if is_dropped else "context", text)]
    return first


def _classify(text: str) -> Segment:
    head = text.lstrip()
    if head.startswith(("<command-name>", "<command-message>")):
        return _classify_command(text)
    if head.startswith("<bash-input>"):
        typed = compile_pattern(_BASH_INPUT).search(text)
        return Segment("prompt", typed.group(1).strip() if typed else text)
    for start, kind in _NOTES:
        if head.startswith(start):
            if kind in ("output", "command"):
                text = compile_pattern(_OUTPUT_TAG).sub("", text).strip()
            return Segment(kind, text)
    return Segment("prompt", text)


def _classify_command(text: str) -> Segment:
    """Return `/name` with its arguments.

    A command with arguments is a prompt. So is a skill, whose message comes first. A command
    without arguments, or one that the client itself carries out, is a prompt only if the agent
    answers it.
    """
    name = compile_pattern(_COMMAND_NAME).search(text)
    args = compile_pattern(_COMMAND_ARGS).search(text)
    typed = " ".join(part.group(1).strip() for part in (name, args) if part).strip()
    if not typed:
        return Segment("drop", "")
    if not typed.startswith("/"):
        typed = "/" + typed
    is_skill = text.lstrip().startswith("<command-message>")
    has_args = args is not None and bool(args.group(1).strip())
    is_local = typed.partition(" ")[0] in _LOCAL_COMMANDS
    return Segment("prompt" if is_skill or (has_args and not is_local) else "command", typed)

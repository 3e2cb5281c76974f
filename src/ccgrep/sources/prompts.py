"""Tells a prompt that somebody wrote from the text that Claude Code puts around it.

Everything here looks at the first characters of a `user` text, as counted on real
transcripts: most injected text comes without any flag that says so.
"""

from typing import Literal, NamedTuple

from ccgrep.kinds import NoteKind
from ccgrep.lazy_re import compile_pattern


class Words(NamedTuple):
    """What one user text means.

    `prompt` begins a turn, `command` does if the agent answers it, `output` is what a
    local command printed, `drop` says nothing at all; the rest are notes.
    """

    kind: Literal["prompt", "command", "output", "drop"] | NoteKind
    text: str


# Compiled when first needed: most prompts are words, and a search waits for them.
_CONTEXT_BLOCK = (
    r"(?s)\s*<(system-reminder|ide_opened_file|ide_selection|ide_diagnostics|user-prompt-submit-hook|fork-boilerplate)>"
    r"(.*?)</\1>\s*"
)
_TAG = r"(?s)<{0}>(.*?)</{0}>"
_COMMAND_NAME = _TAG.format("command-name")
_COMMAND_ARGS = _TAG.format("command-args")
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
_META_DROPPED = ("[Image: source:", "Continue from where you left off.", "Caveat: ")
_MACHINE_PROMPTS = ("[SUGGESTION MODE", "Your task is to create a detailed summary")


def is_machine_prompt(text: str) -> bool:
    """Whether a sub-agent's prompt was written by neither a person nor an agent."""
    return text.strip() == "Warmup" or text.startswith(_MACHINE_PROMPTS)


def words(text: str) -> list[Words]:
    """What a user text without `isMeta` says, context first."""
    found: list[Words] = []
    while text.lstrip().startswith("<") and (block := compile_pattern(_CONTEXT_BLOCK).match(text)):
        found.append(Words("context", block.group(2).strip()))
        text = text[block.end() :]
    if text.strip():
        found.append(_one(text))
    return found


def meta_words(text: str) -> list[Words]:
    """What a user text says that the client marked as its own."""
    for said in words(text):
        if said.kind == "prompt":
            dropped = text.startswith(_META_DROPPED)
            return [Words("drop" if dropped else "context", text)]
        return [said]
    return []


def _one(text: str) -> Words:
    head = text.lstrip()
    if head.startswith(("<command-name>", "<command-message>")):
        return _command(text)
    if head.startswith("<bash-input>"):
        typed = compile_pattern(_BASH_INPUT).search(text)
        return Words("prompt", typed.group(1).strip() if typed else text)
    for start, kind in _NOTES:
        if head.startswith(start):
            if kind in ("output", "command"):
                text = compile_pattern(_OUTPUT_TAG).sub("", text).strip()
            return Words(kind, text)
    return Words("prompt", text)


def _command(text: str) -> Words:
    """`/name` and the words in its arguments.

    A command with arguments is a prompt, and so is a skill (its message comes first);
    a built-in one such as `/model` only if the agent goes to work on it.
    """
    name = compile_pattern(_COMMAND_NAME).search(text)
    args = compile_pattern(_COMMAND_ARGS).search(text)
    typed = " ".join(part.group(1).strip() for part in (name, args) if part).strip()
    if not typed:
        return Words("drop", "")
    if not typed.startswith("/"):
        typed = "/" + typed
    is_skill = text.lstrip().startswith("<command-message>")
    has_words = args is not None and bool(args.group(1).strip())
    return Words("prompt" if is_skill or has_words else "command", typed)

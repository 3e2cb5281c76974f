"""The words of a scenario: what the user types, what the model answers, and what comes of it.

A script is also the expectation. The stub server plays the answers of a turn, and `compare` checks
that ccgrep reports the same turn. In all texts `$PROJECT` and `$HOME` stand for the scenario's own
directories. Everything is plain data, so that `distill` can save it as JSON.
"""

from typing import Any, Literal

import msgspec
from msgspec import Struct

Client = Literal["claude", "codex"]
SessionKind = Literal["main", "subagent", "worker"]


class Say(Struct, frozen=True, omit_defaults=True, tag="say"):
    """A text of the model."""

    text: str


class Think(Struct, frozen=True, omit_defaults=True, tag="think"):
    """A thought. Codex records only its summary, which is this text."""

    text: str


class Redact(Struct, frozen=True, omit_defaults=True, tag="redact"):
    """A thought that the API encrypts. No transcript has its text."""

    data: str


class Call(Struct, frozen=True, omit_defaults=True, tag="call"):
    """A tool call, and what its result must hold.

    `output` is a part of the result's text, or all of it if `is_whole`. A string as `input` makes
    the call a custom tool of Codex.
    """

    name: str
    input: dict[str, Any] | str
    output: str = ""
    is_whole: bool = False
    is_error: bool = False
    namespace: str = ""
    images: int = 0

    @property
    def full_name(self) -> str:
        """The name with that of its MCP server, which Codex writes apart."""
        is_mcp = self.namespace.startswith("mcp__")
        return f"{self.namespace}__{self.name}" if is_mcp else self.name


class Ran(Struct, frozen=True, omit_defaults=True, tag="ran"):
    """A call that the client makes by itself, such as a command in a script of code mode.

    The model does not send it: it is the effect of the call before it.
    """

    name: str
    input: dict[str, Any] | None
    output: str = ""
    is_error: bool = False

    @property
    def full_name(self) -> str:
        return self.name


Part = Say | Think | Redact | Call | Ran


class Answer(Struct, frozen=True, omit_defaults=True):
    """One answer of the model, or an error of the API if there is a `status`."""

    parts: tuple[Part, ...] = ()
    stop: str = ""
    status: int = 0
    error: str = ""
    is_recorded: bool = True  # False: the client keeps neither its text nor its tokens


class Turn(Struct, frozen=True, omit_defaults=True):
    """A prompt with the answers to it.

    `seen_as` is the text by which the stub recognizes the prompt if the model sees another one than
    the user typed. `notes` are the kinds of the notes that the turn must have.
    """

    prompt: str
    answers: tuple[Answer, ...] = ()
    seen_as: str = ""
    is_rolled_back: bool = False
    notes: dict[str, str] = {}
    images: int = 0

    @property
    def phrase(self) -> str:
        return self.seen_as or self.prompt


class Session(Struct, frozen=True, omit_defaults=True):
    """A session that ccgrep must list. Its `name` is known to the scenario only."""

    name: str
    turns: tuple[Turn, ...] = ()
    kind: SessionKind = "main"
    parent: str = ""
    forked_from: str = ""
    title: str = ""  # by default the first prompt
    agent: str = ""  # not compared by default: Codex makes up names


class Step(Struct, frozen=True, omit_defaults=True, tag=True):
    """Something that the driver does."""


class Run(Step, frozen=True, omit_defaults=True):
    """Run the client once without a terminal: a new session, or one more turn of a known one.

    `prompt` defaults to the next turn of the session. `fork` names the session to fork.
    """

    session: str = "main"
    prompt: str = ""
    arguments: tuple[str, ...] = ()
    fork: str = ""
    stdin: str = ""
    is_latest: bool = False  # continue the latest session instead of naming it
    may_fail: bool = False
    images: tuple[str, ...] = ()


class Write(Step, frozen=True, omit_defaults=True):
    """Write a file below the project or the home."""

    path: str
    text: str = ""


class Find(Step, frozen=True, omit_defaults=True):
    """Wait until a transcript holds a text, at least `times`."""

    text: str
    times: int = 1


class Stream(Step, frozen=True, omit_defaults=True):
    """Run Claude Code with a stream of JSON messages as its input.

    Each message is sent when the client's output holds the text before it, and then `then` happens.
    """

    messages: tuple[tuple[str, Any], ...]
    session: str = "main"
    then: tuple[Find | Write, ...] = ()


class Open(Step, frozen=True, omit_defaults=True):
    """Start the client in a terminal, with a new session or one that is known."""

    session: str = "main"
    arguments: tuple[str, ...] = ()


class Type(Step, frozen=True, omit_defaults=True):
    """Type a text and press Enter."""

    text: str


class Press(Step, frozen=True, omit_defaults=True):
    """Press a key, by its name in tmux. A client may drop keys that come too early."""

    key: str


class Quit(Step, frozen=True, omit_defaults=True):
    """Quit the client in the terminal. The last step does so anyway."""


class See(Step, frozen=True, omit_defaults=True):
    """Wait until the screen shows a text, or no longer shows it."""

    text: str
    is_gone: bool = False


AnyStep = Run | Stream | Open | Type | Press | Quit | See | Find | Write


class Scenario(Struct, frozen=True, omit_defaults=True):
    """A name, what happens, and the sessions that come of it."""

    name: str
    client: Client
    sessions: tuple[Session, ...]
    steps: tuple[AnyStep, ...] = ()
    replies: tuple[Turn, ...] = ()  # to prompts of the client itself
    settings: dict[str, Any] = {}

    def turns(self) -> list[Turn]:
        return [*(turn for session in self.sessions for turn in session.turns), *self.replies]


class Served(Struct, frozen=True, omit_defaults=True):
    """An answer that a stub gave, with the tokens it reported."""

    phrase: str
    step: int
    model: str
    input: int
    output: int
    cache_read: int
    cache_write: int
    is_recorded: bool = True


class Outcome(Struct, frozen=True, omit_defaults=True):
    """A scenario after it ran: the ids of its sessions and what the stub answered."""

    scenario: Scenario
    ids: dict[str, str] = {}
    served: tuple[Served, ...] = ()
    problems: tuple[str, ...] = ()


def say(text: str) -> Answer:
    return Answer((Say(text),))


def turn(prompt: str, *answers: Answer | tuple[Part, ...] | str, **fields: Any) -> Turn:
    """Return a turn. An answer is a text, the parts of a message, or an `Answer`."""
    return Turn(prompt, tuple(map(_to_answer, answers)), **fields)


def _to_answer(answer: Answer | tuple[Part, ...] | str) -> Answer:
    if isinstance(answer, str):
        return say(answer)
    return answer if isinstance(answer, Answer) else Answer(answer)


def replace_paths(scenario: Scenario, paths: dict[str, str]) -> Scenario:
    """Return the scenario with each variable replaced by its path."""
    text = msgspec.json.encode(scenario).decode()
    for variable, path in paths.items():
        text = text.replace(variable, path)
    return msgspec.json.decode(text, type=Scenario)

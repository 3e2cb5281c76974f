"""The further agents that `agents` runs, and the scenario of each."""

import json
from typing import NamedTuple

from tests.clients.anthropic_stub import AnthropicHandler
from tests.clients.chat_stub import ChatHandler
from tests.clients.gemini_stub import GeminiHandler
from tests.clients.script import Call, Say, Scenario, Session, Think, Turn, turn
from tests.clients.stub import TITLE, StubHandler
from tests.clients.world import API_KEY

_EMUS = "python3 -c \"print('emu line\\n' * 9000)\""


class Agent(NamedTuple):
    """A client: its package, its model server and how to ask it.

    `first` and `next` are the arguments of the first prompt and of the others.
    """

    package: str
    version: str
    program: str
    handler: type[StubHandler]
    variables: dict[str, str]
    first: tuple[str, ...]
    next: tuple[str, ...]
    settings: tuple[str, str] = ("", "")  # a file in the home, and its content
    asks_by_itself: bool = False  # for titles and memories, which no scenario scripts


AGENTS = {
    "copilot": Agent(
        "@github/copilot",
        "1.0.102",
        "copilot",
        AnthropicHandler,
        {
            "COPILOT_PROVIDER_TYPE": "anthropic",
            "COPILOT_PROVIDER_BASE_URL": "{url}",
            "COPILOT_PROVIDER_API_KEY": API_KEY,
            "COPILOT_MODEL": "claude-sonnet-4.5",
            "COPILOT_OFFLINE": "true",
            "COPILOT_AUTO_UPDATE": "false",
        },
        ("--allow-all-tools", "--allow-all-paths", "-p"),
        ("--allow-all-tools", "--allow-all-paths", "--continue", "-p"),
    ),
    "opencode": Agent(
        "opencode-ai",
        "1.18.33",
        "opencode",
        AnthropicHandler,
        {
            "OPENCODE_DISABLE_AUTOUPDATE": "1",
            "OPENCODE_DISABLE_MODELS_FETCH": "1",
            "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
            "OPENCODE_CONFIG_CONTENT": json.dumps(
                {
                    "model": "anthropic/claude-sonnet-4-5",
                    "small_model": "anthropic/claude-haiku-4-5",
                    "permission": "allow",
                    "share": "disabled",
                    "provider": {
                        "anthropic": {"options": {"baseURL": "{url}/v1", "apiKey": API_KEY}}
                    },
                }
            ),
        },
        ("run",),
        ("run", "--continue"),
    ),
    "pi": Agent(
        "@earendil-works/pi-coding-agent",
        "0.74.2",
        "pi",
        AnthropicHandler,
        {"PI_OFFLINE": "1", "PI_SKIP_VERSION_CHECK": "1"},
        ("--provider", "stub", "--model", "stub-model", "--thinking", "low", "-p"),
        ("--provider", "stub", "--model", "stub-model", "--thinking", "low", "-c", "-p"),
        (
            ".pi/agent/models.json",
            json.dumps(
                {
                    "providers": {
                        "stub": {
                            "baseUrl": "{url}",
                            "apiKey": API_KEY,
                            "api": "anthropic-messages",
                            "models": [{"id": "stub-model", "reasoning": True}],
                        }
                    }
                }
            ),
        ),
    ),
    "gemini": Agent(
        "@google/gemini-cli",
        "0.61.0",
        "gemini",
        GeminiHandler,
        {
            "GOOGLE_GEMINI_BASE_URL": "{url}",
            "GEMINI_API_KEY": API_KEY,
            "GEMINI_CLI_TRUST_WORKSPACE": "true",
        },
        ("--yolo", "-m", "gemini-2.5-pro", "-p"),
        ("--yolo", "-m", "gemini-2.5-pro", "--resume", "latest", "-p"),
        (
            ".gemini/settings.json",
            json.dumps(
                {
                    "security": {"auth": {"selectedType": "gemini-api-key"}},
                    "privacy": {"usageStatisticsEnabled": False},
                }
            ),
        ),
    ),
    "qwen": Agent(
        "@qwen-code/qwen-code",
        "0.24.4",
        "qwen",
        ChatHandler,
        {
            "OPENAI_BASE_URL": "{url}/v1",
            "OPENAI_API_KEY": API_KEY,
            "OPENAI_MODEL": "qwen3-coder-plus",
        },
        ("--yolo", "--auth-type", "openai", "-p"),
        ("--yolo", "--auth-type", "openai", "--continue", "-p"),
        asks_by_itself=True,
    ),
}


def _scenario(
    name: str,
    shell: str,
    *turns: Turn,
    agents: tuple[Session, ...] = (),
    title: str = "",
    is_quoted: bool = False,
) -> Scenario:
    """Return a scenario with turns that every agent has, and some of its own.

    With `is_quoted`, the client puts a prompt with spaces in quotation marks.
    """
    command = {"command": "echo numbat; exit 3", "description": "fail"}
    fields = {**command, "is_background": False} if name == "qwen" else command
    shared = (
        turn("hello quokka", (Think("**Marsupials**\nA quokka says hello."), Say("Hello there."))),
        turn(
            "run what fails",
            (Say("It may fail."), Call(shell, fields, "numbat", is_error=True)),
            "It failed.",
        ),
    )
    asked = (*shared, *turns)
    if is_quoted:
        asked = tuple(Turn(f'"{one.prompt}"', one.answers, one.prompt) for one in asked)
    return Scenario(name, "claude", (Session("main", asked, title=title), *agents))


_MISSING = {"path": "$PROJECT/none.txt"}
_OPENCODE_EDIT = {"filePath": "$PROJECT/a.py", "oldString": "x = 1", "newString": "x = 2"}
SCENARIOS = {
    "opencode": _scenario(
        "opencode",
        "bash",
        turn(
            "change a file",
            (
                Call("read", {"filePath": "$PROJECT/none.txt"}, "File not found", is_error=True),
                Call("write", {"filePath": "$PROJECT/a.py", "content": "x = 1\n"}, "Wrote file"),
            ),
            (Call("edit", _OPENCODE_EDIT, "Edit applied"),),
            "Changed.",
        ),
        turn(
            "ask an agent",
            (
                Call(
                    "task",
                    {
                        "description": "dig",
                        "prompt": "where is the wombat",
                        "subagent_type": "general",
                    },
                    "in its burrow",
                ),
            ),
            "It found the wombat.",
        ),
        agents=(
            Session(
                "general",
                (turn("where is the wombat", "in its burrow"),),
                kind="subagent",
                parent="main",
                title="dig (@general subagent)",
                agent="general",
            ),
        ),
        title=json.dumps({"title": TITLE}),
        is_quoted=True,
    ),
    "pi": _scenario(
        "pi",
        "bash",
        turn(
            "change a file",
            (
                Call("read", {"path": "$PROJECT/none.txt"}, "ENOENT", is_error=True),
                Call("write", {"path": "$PROJECT/a.py", "content": "x = 1\n"}, "Successfully"),
            ),
            (
                Call(
                    "edit",
                    {"path": "$PROJECT/a.py", "edits": [{"oldText": "x = 1", "newText": "x = 2"}]},
                    "Successfully replaced",
                ),
            ),
            "Changed.",
        ),
    ),
    "copilot": _scenario(
        "copilot",
        "bash",
        turn(
            "change a file",
            (
                Call("view", _MISSING, "Path does not exist", is_error=True),
                Call("create", {"path": "$PROJECT/a.py", "file_text": "x = 1\n"}, "Created file"),
            ),
            (
                Call(
                    "edit",
                    {"path": "$PROJECT/a.py", "old_str": "x = 1", "new_str": "x = 2"},
                    "updated",
                ),
            ),
            "Changed.",
        ),
        turn(
            "ask an explorer",
            (
                Call(
                    "task",
                    {
                        "agent_type": "explore",
                        "name": "digger",
                        "description": "Find the wombat",
                        "prompt": "where is the wombat",
                    },
                    "in its burrow",
                    is_whole=True,
                ),
            ),
            "The explorer found it.",
        ),
        agents=(
            Session(
                "explorer",
                (
                    turn(
                        "where is the wombat",
                        (
                            Say("Digging."),
                            Call("bash", {"command": "ls", "description": "list"}, "notes.md"),
                        ),
                        "in its burrow",
                    ),
                ),
                kind="subagent",
                parent="main",
                title="Find the wombat",
                agent="explore",
            ),
        ),
    ),
    "gemini": _scenario(
        "gemini",
        "run_shell_command",
        turn(
            "change a file",
            (
                Call("read_file", {"file_path": "none.txt"}, "File not found", is_error=True),
                Call("write_file", {"file_path": "a.py", "content": "x = 1\n"}, "Successfully"),
            ),
            (
                Call(
                    "replace",
                    {
                        "file_path": "a.py",
                        "old_string": "x = 1",
                        "new_string": "x = 2",
                        "instruction": "change x",
                    },
                    "Successfully modified",
                ),
            ),
            "Changed.",
        ),
        turn(
            "print a lot",
            (
                Call(
                    "run_shell_command",
                    {"command": _EMUS, "description": "print"},
                    "emu line\n" * 8000,
                ),
            ),
            "A lot.",
        ),
    ),
    "qwen": _scenario(
        "qwen",
        "run_shell_command",
        turn(
            "change a file",
            (
                Call("read_file", {"file_path": "/none/none.txt"}, "not found", is_error=True),
                Call("write_file", {"file_path": "$PROJECT/a.py", "content": "x = 1\n"}, "Success"),
            ),
            "Changed.",
        ),
        turn(
            "print a lot",
            (
                Call(
                    "run_shell_command",
                    {"command": _EMUS, "description": "print", "is_background": False},
                    "emu line\n" * 8000,
                ),
            ),
            "A lot.",
        ),
    ),
}

"""The directories and the environment of one scenario: a HOME, and a git project in it.

No client and no command sees anything else of the machine but the PATH. Nothing is shared between
scenarios, so that they can run at the same time.
"""

import base64
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.clients.install import Clients
from tests.clients.script import Client, Find, Scenario, Write, replace_paths
from tests.clients.terminal import wait_for

MCP_SERVER = Path(__file__).with_name("mcp_server.py")
API_KEY = "dummy-key-of-the-stub"
FILES = {
    "test_wombat.py": 'FACTOR = 3\nassert FACTOR * 2 == 8, "the wombat factor is wrong"\n',
    "notes.md": "# Notes\nThe wombat factor is three.\n",
}
RED_SQUARE = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAgAAAAICAIAAABLbSncAAAAEklEQVR4nGP4z8CAFWEXHbQSACj/P8Fu7N9hAAAAAElF"
    "TkSuQmCC"
)
_CODEX_CONFIG = """\
model = "gpt-5.5"
model_provider = "stub"
approval_policy = "never"
sandbox_mode = "danger-full-access"

[model_providers.stub]
name = "Stub"
base_url = "{url}/v1"
env_key = "STUB_OPENAI_KEY"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0

[analytics]
enabled = false

[features]
daemon_auto_start = false

[notice.model_migrations]
"gpt-5.5" = "gpt-6-sol"

[tui]
screen_reader_detection_done = true

[projects."{project}"]
trust_level = "trusted"
"""
_CODEX_ZOO = """
[mcp_servers.zoo]
command = "{python}"
args = ["{server}"]
"""


class World:
    """The place where one scenario happens."""

    def __init__(self, directory: Path, clients: Clients, scenario: Scenario, url: str) -> None:
        self.home = directory / "home"
        self.project = self.home / "shop"
        self.clients = clients
        self.client: Client = scenario.client
        paths = {"$PROJECT": str(self.project), "$HOME": str(self.home)}
        self.scenario = replace_paths(scenario, paths)
        self._url = url
        shutil.rmtree(directory, ignore_errors=True)
        self._make_project()
        if self.client == "claude":
            self._configure_claude()
        else:
            self._configure_codex()

    @property
    def _transcripts(self) -> Path:
        return self.home / (".claude/projects" if self.client == "claude" else ".codex")

    @property
    def environment(self) -> dict[str, str]:
        return {
            "HOME": str(self.home),
            "PATH": f"{self.clients.bin}:{os.environ['PATH']}",
            "TERM": "xterm-256color",
            "LANG": "C.UTF-8",
            "TZ": "UTC",
            "SHELL": "/bin/bash",
            "USER": "tester",
            "IS_SANDBOX": "1",  # Claude Code refuses to skip permissions as root otherwise.
            "ANTHROPIC_BASE_URL": self._url,
            "ANTHROPIC_API_KEY": API_KEY,
            "STUB_OPENAI_KEY": API_KEY,
            "CLAUDE_CODE_TMPDIR": str(self.home / "tmp"),
            "CLAUDE_CODE_MAX_RETRIES": "1",
            "CLAUDE_CODE_ENABLE_TODO_TOOLS": "1",  # Releases after 2.1.300 have none by default.
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_TELEMETRY": "1",
            "DISABLE_ERROR_REPORTING": "1",
            "DISABLE_AUTOUPDATER": "1",
        }

    @property
    def terminal_environment(self) -> dict[str, str]:
        """Return the environment of a terminal, in which Claude Code also asks for titles.

        Releases after 2.1.300 count them as nonessential traffic. A proxy that does not exist stops
        all other traffic.
        """
        if self.client != "claude":
            return self.environment
        proxy = "http://127.0.0.1:9"
        more = {"HTTPS_PROXY": proxy, "HTTP_PROXY": proxy, "NO_PROXY": "127.0.0.1"}
        environment = {**self.environment, **more}
        del environment["CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC"]
        return environment

    def write(self, step: Write) -> None:
        path = Path(step.path)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(step.text)

    def find(self, step: Find) -> None:
        """Wait until the transcripts hold a text."""
        wait_for(
            lambda: _count(self._transcripts, step.text) >= step.times,
            lambda: f"no transcript holds {step.text!r}",
        )

    def _make_project(self) -> None:
        self.project.mkdir(parents=True)
        (self.home / "tmp").mkdir()
        for name, text in FILES.items():
            (self.project / name).write_text(text)
        (self.project / "red.png").write_bytes(RED_SQUARE)
        who = ("-c", "user.name=tester", "-c", "user.email=tester@example.org")
        for command in (("init", "-q", "-b", "main"), ("add", "."), ("commit", "-q", "-m", "shop")):
            subprocess.run(["git", *who, *command], cwd=self.project, check=True)

    def _configure_claude(self) -> None:
        """Answer the questions that Claude Code asks when it starts for the first time."""
        settings = self.home / ".claude" / "settings.json"
        settings.parent.mkdir()
        settings.write_text(json.dumps({"theme": "dark", **self.scenario.settings}))
        project = {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}
        state = {
            "hasCompletedOnboarding": True,
            "bypassPermissionsModeAccepted": True,
            "customApiKeyResponses": {"approved": [API_KEY[-20:]], "rejected": []},
            "projects": {str(self.project): project},
        }
        (self.home / ".claude.json").write_text(json.dumps(state))
        server = {"command": sys.executable, "args": [str(MCP_SERVER)]}
        (self.home / "zoo.json").write_text(json.dumps({"mcpServers": {"zoo": server}}))

    def _configure_codex(self) -> None:
        directory = self.home / ".codex"
        directory.mkdir()
        config = _CODEX_CONFIG.format(url=self._url, project=self.project)
        if self.scenario.settings.get("mcp"):
            config += _CODEX_ZOO.format(python=sys.executable, server=MCP_SERVER)
        (directory / "config.toml").write_text(config)


def _count(directory: Path, text: str) -> int:
    return sum(path.read_text().count(text) for path in directory.rglob("*.jsonl"))

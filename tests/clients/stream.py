"""Runs Claude Code with JSON messages as input, each sent when the output shows its cue."""

import json
import subprocess
from typing import Any

from tests.clients.script import Find, Stream
from tests.clients.terminal import WAIT_S, Stuck
from tests.clients.world import World


def run_stream(world: World, step: Stream, session: str) -> None:
    """Send the messages of a step, then wait for the client to end."""
    formats = ("--input-format", "stream-json", "--output-format", "stream-json", "--verbose")
    with subprocess.Popen(
        ["claude", "-p", *formats, "--dangerously-skip-permissions", "--session-id", session],
        cwd=world.project,
        env=world.environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdin is not None
        for cue, content in step.messages:
            _read_to(process, cue)
            process.stdin.write(json.dumps(_message(content, session)) + "\n")
            process.stdin.flush()
        for action in step.then:
            if isinstance(action, Find):
                world.find(action)
            else:
                world.write(action)
        process.communicate(timeout=WAIT_S)
    if process.returncode:
        raise Stuck(f"claude -p with a stream: exit status {process.returncode}")


def _read_to(process: subprocess.Popen[str], cue: str) -> None:
    assert process.stdout is not None
    if cue and not any(cue in line for line in process.stdout):
        raise Stuck(f"the output of claude -p ended without {cue!r}")


def _message(content: Any, session: str) -> dict[str, Any]:
    message = {"role": "user", "content": content}
    more = {"parent_tool_use_id": None, "session_id": session}
    return {"type": "user", "message": message, **more}

"""Answer a hook of Claude Code with quoted history: `ccgrep __recall`.

A hook must never hold up a session. A child process reads the event and searches. The parent waits
for its whole answer until the deadline, prints that or nothing, and exits with status 0, whatever
happens to the child. (For the client, status 2 would mean: reject the prompt.)
"""

import os
import select
import signal
import sys
import time

from ccgrep.cli.context import Context

_END = b"\n"


def run(_: list[str], context: Context) -> int:
    try:
        left_s = context.config().recall_timeout_s - _age_s()
        sys.stdout.buffer.write(_ask_child(context, time.monotonic() + left_s))
        sys.stdout.buffer.flush()
    except Exception:
        return 0  # A message would be of no use, and any other status of harm.
    return 0


def _age_s() -> float:
    """Return how long ago this process started, as far as the system tells."""
    try:
        with open("/proc/self/stat", "rb") as file:
            ticks = int(file.read().rpartition(b")")[2].split()[19])
        return time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, AttributeError, IndexError):
        return 0.0


def _ask_child(context: Context, deadline: float) -> bytes:
    """Return the answer of a child process, or nothing if it fails or is late."""
    answers, report = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(answers)
            os.write(report, _answer(context))
        finally:
            os._exit(0)
    os.close(report)
    try:
        return _read_until(answers, deadline)
    finally:
        # Not awaited: on a busy machine the end of a process takes long. init reaps it.
        os.kill(child, signal.SIGKILL)
        os.close(answers)


def _read_until(source: int, deadline: float) -> bytes:
    """Return everything up to the end of a pipe, or nothing if the end does not come in time."""
    data = b""
    while True:
        left = deadline - time.monotonic()
        if left <= 0 or not select.select([source], [], [], left)[0]:
            return b""
        part = os.read(source, 65536)
        if not part:
            return data if data.endswith(_END) else b""
        data += part


def _answer(context: Context) -> bytes:
    import msgspec  # noqa: PLC0415 - the child only

    from ccgrep.ops.recall import EVENTS, recall  # noqa: PLC0415
    from ccgrep.output.brief_text import quote_history  # noqa: PLC0415
    from ccgrep.settings import home_dir  # noqa: PLC0415

    event = msgspec.json.decode(sys.stdin.buffer.read())
    name = event.get("hook_event_name")
    if name not in EVENTS:
        return b""
    config, now_ms = context.config(), context.now_ms
    found = recall(config, event, home_dir(context.environment), now_ms)
    text = quote_history(found, now_ms, config.recall_chars)
    if not text:
        return b""
    output = {"hookEventName": name, "additionalContext": text}
    return msgspec.json.encode({"hookSpecificOutput": output}) + _END

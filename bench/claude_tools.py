"""Claude Code's tools: what a call asks for, and what comes back twice.

A result stands in the message for the model and once more in `toolUseResult`, in a shape of
its own; together they are half of all bytes.
"""

from collections.abc import Sequence

import msgspec

from bench.text import TERMS, Scribe
from bench.transcript import Record


class Call(msgspec.Struct, frozen=True):
    name: str
    arguments: Record
    output: str
    details: object
    is_error: bool = False


def any_call(scribe: Scribe) -> Call:
    makers = (_bash, _read, _edit, _grep, _write, _mcp)
    return scribe.rng.choices(makers, (43, 27, 16, 11, 2, 4))[0](scribe)


def _bash(scribe: Scribe) -> Call:
    if scribe.rng.random() > 0.12:
        return shell(scribe, scribe.size(480, 1.4, 30_000))
    text = "Exit code 1\n" + scribe.output("trace", scribe.size(300, 0.8, 5_000))
    return Call("Bash", {"command": scribe.command()[1]}, text, f"Error: {text}", is_error=True)


def shell(scribe: Scribe, size: int) -> Call:
    kind, command = scribe.command()
    if scribe.rng.random() < 0.04:
        command = f"python - <<'EOF'\n{scribe.code(900)}\nEOF"
    output = scribe.output(kind, size)
    arguments: Record = {"command": command, "description": scribe.sentence()[:40]}
    details = {"stdout": output, "stderr": "", "interrupted": False, "isImage": False}
    return Call("Bash", arguments, output, details)


def _numbered(start: int, lines: Sequence[str]) -> str:
    return "\n".join(f"{start + i:6d}→{line}" for i, line in enumerate(lines, 1))


def _read(scribe: Scribe) -> Call:
    path, start, lines = scribe.excerpt(scribe.size(2_100, 1.15, 120_000))
    arguments: Record = {"file_path": path, "offset": start, "limit": len(lines)}
    file = {"filePath": path, "content": "\n".join(lines), "numLines": len(lines)}
    details = {"type": "text", "file": file | {"startLine": start + 1, "totalLines": 2_000}}
    return Call("Read", arguments, _numbered(start, lines), details)


def _edit(scribe: Scribe) -> Call:
    path, lines = scribe.open_source(is_new=False)
    count = min(len(lines), scribe.size(3, 0.8, 60) + 1)
    start = scribe.rng.randint(0, len(lines) - count)
    old = lines[start : start + count]
    patch = scribe.changed(old)
    new = [line[1:] for line in patch if line[0] != "-"]
    arguments: Record = {"file_path": path, "old_string": "\n".join(old)}
    arguments["new_string"] = "\n".join(new)
    hunk = {"oldStart": start + 1, "oldLines": count, "newStart": start + 1, "lines": patch}
    details = arguments | {"originalFile": "\n".join(lines), "structuredPatch": [hunk]}
    lines[start : start + count] = new
    output = f"The file {path} has been updated successfully."
    if scribe.rng.random() < 0.5:
        output += f" Here's the result of running `cat -n`:\n{_numbered(start, new)}"
    return Call("Edit", arguments, output, details)


def _write(scribe: Scribe) -> Call:
    path, lines = scribe.open_source(is_new=True)
    arguments: Record = {"file_path": path, "content": "\n".join(lines[:80])}
    return Call("Write", arguments, f"File created successfully at: {path}", arguments)


def _grep(scribe: Scribe) -> Call:
    output = scribe.output("matches", scribe.size(700, 1.1, 20_000))
    arguments: Record = {"pattern": scribe.word(), "path": scribe.cwd, "-n": True}
    details = {"mode": "content", "numFiles": 0, "filenames": [], "content": output}
    return Call("Grep", arguments, output, details)


def _mcp(scribe: Scribe) -> Call:
    output = scribe.output("json", scribe.size(1_900, 1.1, 40_000))
    name = f"mcp__{scribe.rng.choice(TERMS)}__{scribe.rng.choice(TERMS)}"
    return Call(name, {"query": scribe.sentence()}, output, [{"type": "text", "text": output}])

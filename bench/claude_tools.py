"""Generates tool calls of Claude Code and their results.

A result occurs in the message for the model, and again in `toolUseResult` in another form. Together
they are half of all bytes.
"""

from collections.abc import Sequence

import msgspec

from bench.text import TERMS, TextWriter
from bench.transcript import Record


class Call(msgspec.Struct, frozen=True):
    name: str
    arguments: Record
    output: str
    details: object
    is_error: bool = False


def random_call(writer: TextWriter) -> Call:
    makers = (_bash, _read, _edit, _grep, _write, _mcp)
    return writer.rng.choices(makers, (43, 27, 16, 11, 2, 4))[0](writer)


def _bash(writer: TextWriter) -> Call:
    if writer.rng.random() > 0.12:
        return shell(writer, writer.size(480, 1.4, 30_000))
    text = "Exit code 1\n" + writer.output("trace", writer.size(300, 0.8, 5_000))
    return Call("Bash", {"command": writer.command()[1]}, text, f"Error: {text}", is_error=True)


def shell(writer: TextWriter, size: int) -> Call:
    kind, command = writer.command()
    if writer.rng.random() < 0.04:
        command = f"python - <<'EOF'\n{writer.code(900)}\nEOF"
    output = writer.output(kind, size)
    arguments: Record = {"command": command, "description": writer.sentence()[:40]}
    details = {"stdout": output, "stderr": "", "interrupted": False, "isImage": False}
    return Call("Bash", arguments, output, details)


def _numbered(start: int, lines: Sequence[str]) -> str:
    return "\n".join(f"{start + i:6d}→{line}" for i, line in enumerate(lines, 1))


def _read(writer: TextWriter) -> Call:
    path, start, lines = writer.excerpt(writer.size(2_100, 1.15, 120_000))
    arguments: Record = {"file_path": path, "offset": start, "limit": len(lines)}
    file = {"filePath": path, "content": "\n".join(lines), "numLines": len(lines)}
    details = {"type": "text", "file": file | {"startLine": start + 1, "totalLines": 2_000}}
    return Call("Read", arguments, _numbered(start, lines), details)


def _edit(writer: TextWriter) -> Call:
    path, lines = writer.open_source(is_new=False)
    count = min(len(lines), writer.size(3, 0.8, 60) + 1)
    start = writer.rng.randint(0, len(lines) - count)
    old = lines[start : start + count]
    patch = writer.patch(old)
    new = [line[1:] for line in patch if line[0] != "-"]
    arguments: Record = {"file_path": path, "old_string": "\n".join(old)}
    arguments["new_string"] = "\n".join(new)
    hunk = {"oldStart": start + 1, "oldLines": count, "newStart": start + 1, "lines": patch}
    details = arguments | {"originalFile": "\n".join(lines), "structuredPatch": [hunk]}
    lines[start : start + count] = new
    output = f"The file {path} has been updated successfully."
    if writer.rng.random() < 0.5:
        output += f" Here's the result of running `cat -n`:\n{_numbered(start, new)}"
    return Call("Edit", arguments, output, details)


def _write(writer: TextWriter) -> Call:
    path, lines = writer.open_source(is_new=True)
    arguments: Record = {"file_path": path, "content": "\n".join(lines[:80])}
    return Call("Write", arguments, f"File created successfully at: {path}", arguments)


def _grep(writer: TextWriter) -> Call:
    output = writer.output("matches", writer.size(700, 1.1, 20_000))
    arguments: Record = {"pattern": writer.word(), "path": writer.cwd, "-n": True}
    details = {"mode": "content", "numFiles": 0, "filenames": [], "content": output}
    return Call("Grep", arguments, output, details)


def _mcp(writer: TextWriter) -> Call:
    output = writer.output("json", writer.size(1_900, 1.1, 40_000))
    name = f"mcp__{writer.rng.choice(TERMS)}__{writer.rng.choice(TERMS)}"
    return Call(name, {"query": writer.sentence()}, output, [{"type": "text", "text": output}])

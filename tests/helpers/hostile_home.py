"""Sessions whose every text is hostile, and the form of a record line."""

import json
import re
from collections.abc import Sequence
from typing import Any

from tests.helpers.homes import Home
from tests.helpers.transcripts import ClaudeFile

RECORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9._~-]{0,63}:[0-9]+:[01]\.[0-9]{3}:.*")


def write_escaped(file: ClaudeFile) -> None:
    """Write a transcript as ASCII with JSON escapes: its text need not be valid UTF-8."""
    for record in [r for r in file.records if isinstance(r, dict)]:
        file.records[file.records.index(record)] = json.dumps(record).encode() + b"\n"
    file.write()


def write_sessions(home: Home, texts: Sequence[str]) -> list[str]:
    """Index a session for each text, with the text in every field. Return the session ids."""
    ids = []
    for number, text in enumerate(texts):
        cwd = f"/home/sam/{text}/in{number}{text}"
        file = home.claude(number + 1, slug=f"-home-{number}", cwd=cwd, version=f"2.1 {text}")
        fields: dict[str, Any] = {"gitBranch": f"branch{number}{text}", "slug": f"slug {text}"}
        file.prompt(f"needle{number} commonword {text} tail{number}", **fields)
        bash = {"command": f"inword{number} {text} x", f"key {text}": [text]}
        file.result(
            file.call("Bash", bash, **fields), f"outword{number} toolword {text} y", **fields
        )
        call = file.call(f"mcp__{text}", {"x": text}, **fields)
        file.result(call, [{"type": "text", "text": f"more {text}"}], is_error=True, **fields)
        edit = {"file_path": f"{cwd}/touched.py", "old_string": text, "new_string": f"{text}!"}
        file.result(file.call("Edit", edit, **fields), "done", **fields)
        file.blocks(
            {"type": "thinking", "thinking": f"thoughtword {number} {text} z"},
            {"type": "text", "text": f"answer{number} commonword {text} end{number}"},
            model=f"model {text}",
            **fields,
        )
        file.prompt(f"second{number} {text} prompt", **fields)
        file.answer(f"reply{number} {text} done", **fields)
        file.meta("ai-title", aiTitle=f"title{number} {text} of it")
        file.meta(f"unknown {text}")
        write_escaped(file)
        ids.append(file.id)
    home.index()
    return ids

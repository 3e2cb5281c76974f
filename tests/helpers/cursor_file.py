"""Builds made-up transcripts of Cursor."""

import re
from pathlib import Path
from typing import Any

from tests.helpers.transcripts import Lines


class CursorFile(Lines):
    """A transcript, in the folder of a project."""

    def __init__(
        self, root: Path, seed: int = 1, cwd: str = "/home/sam/src/my.shop", parent: str = ""
    ) -> None:
        super().__init__(root, seed + 5000)
        self.root = root
        self.id = self.uuid()
        self.cwd = cwd
        project = root / "projects" / re.sub(r"[^A-Za-z0-9]", "-", cwd.strip("/"))
        folder = project / "agent-transcripts" / (parent or self.id)
        self.path = (folder / "subagents" if parent else folder) / f"{self.id}.jsonl"

    def add(self, role: str, *blocks: dict[str, Any]) -> None:
        self.records.append({"role": role, "message": {"content": list(blocks)}})

    def prompt(self, text: str, before: str = "", after: str = "") -> None:
        query = f"{before}<user_query>\n{text}\n</user_query>{after}"
        self.add("user", {"type": "text", "text": query})

    def answer(self, text: str, *calls: tuple[str, dict[str, Any]]) -> None:
        blocks = [{"type": "tool_use", "name": name, "input": fields} for name, fields in calls]
        self.add("assistant", {"type": "text", "text": text}, *blocks)

    def end(self, status: str = "success", **fields: Any) -> None:
        self.records.append({"type": "turn_ended", "status": status, **fields})

    def turn(self, prompt: str, answer: str, command: str = "", output: str = "") -> None:
        """Add a turn. The transcript has no outputs."""
        del output
        self.prompt(prompt)
        if command:
            self.answer("", ("Shell", {"command": command, "working_directory": self.cwd}))
        self.answer(answer)
        self.end()

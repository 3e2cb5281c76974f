"""The process around a command: environment, terminal, streams, clock."""

from __future__ import annotations

import os
import sys
import time

from ccgrep.config import Config, load_settings, make_config
from ccgrep.errors import UsageError
from ccgrep.light_typing import TYPE_CHECKING
from ccgrep.output.style import Style
from ccgrep.settings import Setting

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ccgrep.kinds import SourceName


class Context:
    """What a command knows of the process that it runs in."""

    def __init__(
        self, environment: Mapping[str, str], is_terminal: bool, is_error_terminal: bool, width: int
    ) -> None:
        self.environment = environment
        self.is_terminal = is_terminal
        self.is_error_terminal = is_error_terminal
        self.width = width
        self._settings: dict[str, Setting] | None = None

    @classmethod
    def from_process(cls) -> Context:
        # Streams that are closed when the program starts are None: they take and give nothing.
        sys.stdin = sys.stdin or open(os.devnull, encoding="utf-8")  # noqa: SIM115
        sys.stdout = sys.stdout or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
        sys.stderr = sys.stderr or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
        for stream in (sys.stdout, sys.stderr):
            # The output is the same bytes in every locale.
            stream.reconfigure(encoding="utf-8", errors="backslashreplace", newline="\n")  # type: ignore[union-attr]
        return cls(
            environment=dict(os.environ),
            is_terminal=sys.stdout.isatty(),
            is_error_terminal=sys.stderr.isatty(),
            width=_width(),
        )

    def config(
        self,
        roots: list[str] | None = None,
        source: str | None = None,
        model: str | None = None,
    ) -> Config:
        made = make_config(self.environment, roots, source_name(source), self.settings)
        return made._replace(model=model) if model else made

    def prepare_encoders(self) -> None:
        """Sets what numpy and its like go by, before they are imported."""
        from ccgrep.semantic import ENVIRONMENT  # noqa: PLC0415 - not for a search by words

        for name, value in ENVIRONMENT.items():
            os.environ.setdefault(name, value)

    @property
    def settings(self) -> dict[str, Setting]:
        """What is set, read once and not before it is needed."""
        if self._settings is None:
            self._settings = load_settings(self.environment)
        return self._settings

    def shows_secrets(self, is_asked: bool) -> bool:
        """Whether secrets are shown: by `--no-redact`, or because it is set so."""
        return is_asked or self.settings["redact"].value == "never"

    @property
    def style(self) -> Style:
        return self.style_for(None)

    def style_for(self, color: str | None) -> Style:
        """The colours that `--color` asks for, else those that are set."""
        wanted = color or self.settings["color"].value
        is_plain = bool(self.environment.get("NO_COLOR")) or self.environment.get("TERM") == "dumb"
        return Style(wanted == "always" or (wanted == "auto" and self.is_terminal and not is_plain))

    @property
    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def write(self, text: str) -> None:
        sys.stdout.write(text + "\n")

    def write_lines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def say(self, text: str) -> None:
        """A word to the user that is no part of the result."""
        sys.stderr.write(text + "\n")
        sys.stderr.flush()


def _width() -> int:
    columns = os.environ.get("COLUMNS", "")
    if columns.isdigit() and int(columns) > 0:
        return int(columns)
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns or 80
    except (OSError, ValueError):
        return 80


def source_name(typed: str | None) -> SourceName | None:
    if typed is None:
        return None
    return "codex" if typed == "codex" else "claude_code"


def refs_from(typed: list[str]) -> list[str]:
    """REFs as typed; `-` stands for those on standard input, one a line or ended by NUL.

    A line may be a whole record line, or a line of `ccgrep list`: its first field counts.
    """
    refs: list[str] = []
    for ref in typed:
        if ref != "-":
            refs.append(ref)
            continue
        given = sys.stdin.buffer.read().decode("utf-8", "replace")
        for line in given.replace("\0", "\n").split("\n"):
            if line.strip():
                refs.append(line.partition("\t")[0])
    if not refs:
        raise UsageError("there is no REF on standard input")
    return refs

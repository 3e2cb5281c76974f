"""The process that a command runs in: environment, terminal, streams and clock."""

from __future__ import annotations

import os
import sys
import time

from ccgrep.config import Config, make_config
from ccgrep.errors import CcgrepError, UsageError
from ccgrep.light_typing import TYPE_CHECKING
from ccgrep.output.style import Style
from ccgrep.settings import Setting, read_settings
from ccgrep.text import escape

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ccgrep.kinds import SourceName


class Context:
    """The environment, the terminal and the settings of one run."""

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
        # Python sets streams that were closed at the start to None.
        sys.stdin = sys.stdin or open(os.devnull, encoding="utf-8")  # noqa: SIM115
        # Here writing must fail, as it does if the output is cut off later.
        sys.stdout = sys.stdout or open(os.open(os.devnull, os.O_RDONLY), "w", encoding="utf-8")  # noqa: SIM115
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
        sources: list[str] | None = None,
        model: str | None = None,
    ) -> Config:
        config = make_config(self.environment, roots, parse_sources(sources), self.settings)
        return config._replace(model=model) if model else config

    def prepare_encoders(self) -> None:
        """Set the environment variables that numpy and the encoders read when imported."""
        from ccgrep.semantic import ENVIRONMENT  # noqa: PLC0415 - word searches do not need it

        for name, value in ENVIRONMENT.items():
            os.environ.setdefault(name, value)

    @property
    def settings(self) -> dict[str, Setting]:
        """Return all settings, read on first use."""
        if self._settings is None:
            self._settings = read_settings(self.environment)
        return self._settings

    def shows_secrets(self, no_redact: bool) -> bool:
        """Return whether `--no-redact` or the setting `redact` turns redaction off."""
        return no_redact or self.settings["redact"].value == "never"

    @property
    def style(self) -> Style:
        return self.style_for(None)

    def style_for(self, color: str | None) -> Style:
        """Return the style for the value of `--color`, or for the setting if it is None."""
        color = color or str(self.settings["color"].value)
        is_plain = bool(self.environment.get("NO_COLOR")) or self.environment.get("TERM") == "dumb"
        return Style(color == "always" or (color == "auto" and self.is_terminal and not is_plain))

    @property
    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def write(self, text: str, end: str = "\n") -> None:
        try:
            sys.stdout.write(text + end)
        except BrokenPipeError:
            raise
        except OSError as error:
            raise CcgrepError(f"cannot write the output: {error.strerror}") from error

    def write_lines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def write_error(self, text: str) -> None:
        """Write a line to standard error, for text that is not part of the result."""
        sys.stderr.write(text + "\n")
        sys.stderr.flush()

    def warn(self, text: str) -> None:
        self.write_error(f"ccgrep: {escape(text)}")


def _width() -> int:
    columns = os.environ.get("COLUMNS", "")
    if columns.isdigit() and int(columns) > 0:
        return int(columns)
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns or 80
    except (OSError, ValueError):
        return 80


def parse_sources(words: list[str] | None) -> tuple[SourceName, ...]:
    return tuple(word.replace("-", "_") for word in words or ())


def read_refs(words: list[str]) -> list[str]:
    """Return the REFs, with `-` replaced by those on standard input.

    These end with a newline or NUL. A record line is a REF, and so is the first field of a line
    of `ccgrep list`.
    """
    refs: list[str] = []
    for word in words:
        if word != "-":
            refs.append(word)
            continue
        text = sys.stdin.buffer.read().decode("utf-8", "replace")
        for line in text.replace("\0", "\n").split("\n"):
            if line.strip():
                refs.append(line.partition("\t")[0])
    if not refs:
        raise UsageError("no REF on standard input: pipe in record lines or session ids")
    return refs

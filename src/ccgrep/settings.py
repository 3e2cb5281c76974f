"""The keys of the configuration: one table, which reading, documents and `ccgrep settings` follow.

A value comes from the environment, else from the file, else it is the key's default; options
on the command line stand above all of them. Every start comes through here, so the parser of
the file is imported only when there is a file.
"""

from __future__ import annotations

import os

from ccgrep.errors import UsageError
from ccgrep.light_typing import TYPE_CHECKING, NamedTuple
from ccgrep.text import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, Literal

    Kind = Literal["text", "path", "paths", "count", "number", "word", "words", "patterns"]


Value = str | int | float | tuple[str, ...]

_MOST = 1e9


class Key(NamedTuple):
    """What can be set. `words` are those that a value of the kinds of that name may have."""

    name: str
    kind: Kind
    default: Value
    help: str
    flag: str = ""
    variables: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    most: float = _MOST

    @property
    def environment(self) -> tuple[str, ...]:
        """The variables that set it, the first that is set wins."""
        return self.variables or (f"CCGREP_{self.name.upper()}",)


class Setting(NamedTuple):
    """A value that holds, and where it came from: a variable, a file, or `default`."""

    value: Value
    origin: str


KEYS: dict[str, Key] = {
    key.name: key
    for key in (
        Key(
            "store",
            "path",
            "~/.local/share/ccgrep",
            "where the store is; by default below $XDG_DATA_HOME",
            variables=("CCGREP_DIR",),
        ),
        Key(
            "roots",
            "paths",
            (),
            "directories that are read besides those of Claude Code and Codex: a home, or one such "
            "as ~/.claude; passed over while they are not there; --root replaces all of them",
            "--root",
        ),
        Key(
            "exclude",
            "patterns",
            (),
            "sessions that are not taken in: by the path of the project or of the transcript, with "
            "* and ?, and all that is below; what was taken in before stays until `ccgrep forget`",
        ),
        Key("limit", "count", 10, "how many hits a search for words prints; 0 is all", "-n"),
        Key("list_limit", "count", 20, "how many sessions `list` prints on a terminal", "-n"),
        Key(
            "subagents",
            "word",
            "include",
            "whether sub-agents are searched and listed",
            "--subagents",
            words=("include", "only", "exclude"),
        ),
        Key("timeout_s", "number", 5.0, "seconds that -F and -E may take; 0 is any", "--timeout"),
        Key(
            "refresh_budget_s",
            "number",
            1.0,
            "seconds that a search spends on taking in what changed; the rest waits for `index`",
        ),
        Key(
            "color",
            "word",
            "auto",
            "when colours are used",
            "--color",
            ("CCGREP_COLOR", "NO_COLOR"),
            ("auto", "always", "never"),
        ),
        Key(
            "redact",
            "word",
            "always",
            "whether what looks like a secret is redacted; the server for agents always does",
            "--no-redact",
            words=("always", "never"),
        ),
        Key(
            "pager",
            "text",
            "less -FRX",
            "what shows long output on a terminal; empty or cat is none",
            "--no-pager",
            ("CCGREP_PAGER", "PAGER"),
        ),
        Key(
            "model",
            "text",
            "sentence-transformers/all-MiniLM-L6-v2",
            "the embedding model of semantic search, by name or path",
            "--model",
        ),
        Key(
            "index_kinds",
            "words",
            ("user", "assistant", "tool", "thinking"),
            "which kinds of text words are found in; what was said always is; a change takes hold "
            "with the next `index`",
            words=("user", "assistant", "tool", "thinking"),
        ),
        Key(
            "embed",
            "word",
            "auto",
            "whether `index` embeds what is new; auto is yes, if there is a model",
            "--no-embed",
            words=("auto", "never"),
        ),
        Key("embed_window_days", "count", 90, "how many days back turns are embedded; 0 is all"),
        Key(
            "surfaces",
            "words",
            ("prompt", "answer"),
            "what of a turn is embedded",
            "--surface",
            words=("prompt", "answer", "full"),
        ),
        Key(
            "alpha",
            "number",
            0.5,
            "the weight of meaning in hybrid search; the rest is that of words",
            "--alpha",
            most=1.0,
        ),
    )
}


def read_settings(environment: Mapping[str, str], home: str) -> dict[str, Setting]:
    """Every key's value, and where it came from."""
    path, written = _read_file(environment, home)
    settings = {}
    for key in KEYS.values():
        variable = next((name for name in key.environment if environment.get(name)), None)
        setting = Setting(_default(key, environment, home), "default")
        if key.name in written:
            base = os.path.dirname(path)
            value = _checked(key, written[key.name], f"{key.name} in {path}", home, base)
            setting = Setting(value, path)
        if variable is not None:
            value = _typed(key, environment[variable], variable)
            setting = Setting(_checked(key, value, variable, home, ""), variable)
        settings[key.name] = setting
    return settings


def config_path(environment: Mapping[str, str], home: str) -> str:
    """Where the configuration file is, if there is one."""
    if named := environment.get("CCGREP_CONFIG"):
        return os.path.abspath(named)
    base = environment.get("XDG_CONFIG_HOME") or os.path.join(home, ".config")
    return os.path.join(base, "ccgrep", "config.toml")


def _read_file(environment: Mapping[str, str], home: str) -> tuple[str, dict[str, Any]]:
    path = config_path(environment, home)
    try:
        with open(path, "rb") as file:
            data = file.read()
    except (FileNotFoundError, NotADirectoryError):
        if environment.get("CCGREP_CONFIG"):
            raise UsageError(f"{one_line(path)}, which CCGREP_CONFIG names, is not there") from None
        return path, {}
    except OSError as error:
        raise UsageError(f"{one_line(path)} cannot be read ({error.strerror})") from error
    import tomllib  # noqa: PLC0415 - most have no such file

    try:
        written = tomllib.loads(data.decode())
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{one_line(path)} is not TOML: {one_line(str(error))}") from error
    for name in written:
        if name not in KEYS:
            raise UsageError(f"{one_line(path)} has the unknown key {one_line(name)}{_near(name)}")
    return path, written


def _near(name: str) -> str:
    import difflib  # noqa: PLC0415 - for the one who mistyped

    near = difflib.get_close_matches(name, KEYS, 1, 0.5)
    return f": did you mean {near[0]}?" if near else f": the keys are {', '.join(KEYS)}"


def _default(key: Key, environment: Mapping[str, str], home: str) -> Value:
    if key.name == "store" and (data := environment.get("XDG_DATA_HOME")):
        return os.path.abspath(os.path.join(data, "ccgrep"))
    return _path(key.default, home, "") if key.kind == "path" else key.default


def _typed(key: Key, text: str, variable: str) -> Any:
    """The text of a variable as the file would have it."""
    if variable == "NO_COLOR":
        return "never"
    if key.kind in ("paths", "patterns", "words"):
        return text.split("," if key.kind == "words" else os.pathsep)
    if key.kind in ("count", "number"):
        try:
            return int(text) if key.kind == "count" else float(text)
        except ValueError:
            return text  # Told as what it is not.
    return text


def _checked(key: Key, value: Any, where: str, home: str, base: str) -> Value:
    is_right, meant = _RULES[key.kind]
    if not is_right(key, value):
        meant = meant.format(words=", ".join(key.words), most=f"{key.most:g}")
        raise UsageError(f"{one_line(where)} must be {meant}, not {one_line(repr(value))}")
    if key.kind == "path":
        return _path(value, home, base)
    if key.kind == "paths":
        return tuple(_path(path, home, base) for path in value)
    if key.kind == "patterns":
        return tuple(_pattern(one, home) for one in value)
    if key.kind == "words":
        return tuple(value)
    return float(value) if key.kind == "number" else value


def _path(path: Any, home: str, base: str) -> str:
    """`~` is the home; what is relative starts at `base`, else at the current directory."""
    if path == "~" or path.startswith("~/"):
        path = home + path[1:]
    return os.path.abspath(os.path.join(base, path))


def _pattern(pattern: str, home: str) -> str:
    """`~` is the home; a name alone is that of any directory or file."""
    if pattern == "~" or pattern.startswith("~/"):
        return os.path.normpath(home) + pattern[1:].rstrip("/")
    return pattern.rstrip("/") if "/" in pattern.rstrip("/") else f"*/{pattern.rstrip('/')}"


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and "\0" not in value


def _is_path(_: Key, value: Any) -> bool:
    return _is_text(value) and bool(value)


def _is_number(key: Key, value: Any) -> bool:
    is_one = isinstance(value, int | float) and not isinstance(value, bool)
    return is_one and 0 <= value <= key.most


_RULES: dict[Kind, tuple[Callable[[Key, Any], bool], str]] = {
    "text": (lambda _, value: _is_text(value), "text in quotes"),
    "path": (_is_path, "a path in quotes"),
    "paths": (
        lambda key, value: isinstance(value, list) and all(_is_path(key, one) for one in value),
        "a list of paths in quotes",
    ),
    "patterns": (
        lambda key, value: isinstance(value, list) and all(_is_path(key, one) for one in value),
        "a list of paths in quotes, which may have * and ?",
    ),
    "count": (
        lambda key, value: isinstance(value, int) and _is_number(key, value),
        "a whole number from 0 on",
    ),
    "number": (_is_number, "a number from 0 to {most}"),
    "word": (lambda key, value: value in key.words, "one of {words}"),
    "words": (
        lambda key, value: (
            isinstance(value, list) and 0 < len(value) == sum(map(key.words.count, value))
        ),
        "a list of some of {words}",
    ),
}

"""The table of configuration keys, and reading their values.

A value comes from the environment, else from the configuration file, else it is the key's default.
Options on the command line override all of them. The documentation, the man pages and `ccgrep
settings` follow the table. Every command reads settings, so the TOML parser is imported lazily.
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

_MAX = 1e9


class Key(NamedTuple):
    """A configuration key. `words` are the allowed values of the kinds `word` and `words`."""

    name: str
    kind: Kind
    default: Value
    help: str
    flag: str = ""
    variables: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    maximum: float = _MAX

    @property
    def environment(self) -> tuple[str, ...]:
        """The environment variables that set it. The first one that is set wins."""
        return self.variables or (f"CCGREP_{self.name.upper()}",)


class Setting(NamedTuple):
    """An effective value and its origin: a variable, a file, or `default`."""

    value: Value
    origin: str


# fmt: off
_TABLE = (
    Key("store", "path", "~/.local/share/ccgrep",
        "directory of the store; below $XDG_DATA_HOME if that is set",
        variables=("CCGREP_DIR",)),
    Key("roots", "paths", (),
        "more directories to read besides the agents' own: a home directory, or "
        "one such as ~/.claude; missing ones are skipped; --root replaces all of them",
        "--root"),
    Key("exclude", "patterns", (),
        "sessions to ignore: paths of projects or transcripts, with * and ?, and everything "
        "below them; sessions in the store stay there until `ccgrep forget`"),
    Key("limit", "count", 10, "number of hits of a word search; 0 prints all", "-n"),
    Key("list_limit", "count", 20, "number of sessions that `list` prints on a terminal", "-n"),
    Key("subagents", "word", "include", "whether to search and list sub-agents",
        "--subagents", words=("include", "only", "exclude")),
    Key("timeout_s", "number", 5.0, "time limit of -F and -E in seconds of CPU time; 0 is no limit",
        "--timeout"),
    Key("refresh_budget_s", "number", 1.0,
        "CPU time in seconds that a search spends on new transcripts; `index` reads the rest"),
    Key("recall_chars", "count", 1500,
        "how many characters of past turns a hook of `setup claude --recall` adds at most"),
    Key("recall_timeout_s", "number", 0.25,
        "time in seconds from its start after which such a hook adds nothing"),
    Key("team_timeout_s", "number", 3.0,
        "time in seconds to wait for an answer of a team's server (`-R`); 0 is no limit"),
    Key("color", "word", "auto", "when to use colours",
        "--color", ("CCGREP_COLOR", "NO_COLOR"), ("auto", "always", "never")),
    Key("redact", "word", "always", "whether to hide secrets; the MCP server always hides them",
        "--no-redact", words=("always", "never")),
    Key("pager", "text", "less -FRX",
        "program that shows long output on a terminal; empty or cat for none",
        "--no-pager", ("CCGREP_PAGER", "PAGER")),
    Key("mode", "word", "auto",
        "how a search without -F or -E ranks; auto ranks questions and searches of agents by words "
        "and meaning if turns are embedded, and all else by words",
        "--words", words=("auto", "words", "hybrid", "semantic")),
    Key("model", "text", "sentence-transformers/all-MiniLM-L6-v2",
        "embedding model of semantic search, a name or a path", "--model"),
    Key("index_kinds", "words", ("user", "assistant", "tool", "thinking"),
        "kinds of text that a word search finds, user and assistant always included; the next "
        "`index` applies a change",
        words=("user", "assistant", "tool", "thinking")),
    Key("keep", "word", "all",
        "what to keep of a transcript: all keeps every byte, so `restore` can write it back; "
        "turns keeps only the conversation, and the next `gc` drops the rest",
        words=("all", "turns")),
    Key("embed", "word", "auto", "whether `index` embeds new turns; auto does if there is a model",
        "--no-embed", words=("auto", "never")),
    Key("embed_window_days", "count", 90,
        "age in days up to which turns are embedded; 0 embeds all"),
    Key("surfaces", "words", ("prompt", "answer"), "which text of a turn is embedded",
        "--surface", words=("prompt", "answer", "full")),
    Key("prices", "path", "~/.config/ccgrep/prices.toml",
        "file with prices of models, which override the list prices that ccgrep knows"),
    Key("alpha", "number", 0.5,
        "weight of semantic search in hybrid search; word search has the rest",
        "--alpha", maximum=1.0),
)
# fmt: on
KEYS = {key.name: key for key in _TABLE}


def home_dir(environment: Mapping[str, str]) -> str:
    """Return HOME. Without it ccgrep would read and write below the current directory."""
    home = environment.get("HOME", "")
    if not os.path.isabs(home):
        problem = f"HOME is '{one_line(home)}', not an absolute path" if home else "HOME is not set"
        raise UsageError(f"{problem}: set it to your home directory")
    return home


def read_settings(environment: Mapping[str, str]) -> dict[str, Setting]:
    """Return the value of every key with its origin."""
    home = home_dir(environment)
    path, file_values = _read_file(environment)
    settings = {}
    for key in KEYS.values():
        variable = next((name for name in key.environment if environment.get(name)), None)
        setting = Setting(_default(key, environment, home), "default")
        if key.name in file_values:
            base = os.path.dirname(path)
            value = _validate(key, file_values[key.name], f"{key.name} in {path}", home, base)
            setting = Setting(value, path)
        if variable is not None:
            value = _parse_variable(key, environment[variable], variable)
            setting = Setting(_validate(key, value, variable, home, ""), variable)
        settings[key.name] = setting
    return settings


def config_path(environment: Mapping[str, str]) -> str:
    """Return the path of the configuration file, which may be missing."""
    if path := environment.get("CCGREP_CONFIG"):
        return os.path.abspath(path)
    base = environment.get("XDG_CONFIG_HOME") or os.path.join(home_dir(environment), ".config")
    return os.path.join(base, "ccgrep", "config.toml")


def _read_file(environment: Mapping[str, str]) -> tuple[str, dict[str, Any]]:
    path = config_path(environment)
    try:
        with open(path, "rb") as file:
            data = file.read()
    except (FileNotFoundError, NotADirectoryError):
        if not environment.get("CCGREP_CONFIG"):
            return path, {}
        missing = f"{one_line(path)} does not exist: create it, or unset CCGREP_CONFIG"
        raise UsageError(missing) from None
    except OSError as error:
        raise UsageError(f"cannot read {one_line(path)} ({error.strerror})") from error
    import tomllib  # noqa: PLC0415 - most users have no file

    try:
        file_values = tomllib.loads(data.decode())
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{one_line(path)} is not TOML: {one_line(str(error))}") from error
    for name in file_values:
        if name not in KEYS:
            unknown = f"{one_line(path)} has the unknown key {one_line(name)}"
            raise UsageError(f"{unknown}: {_suggest(name)}")
    return path, file_values


def _suggest(name: str) -> str:
    import difflib  # noqa: PLC0415 - only after a typo

    matches = difflib.get_close_matches(name, KEYS, 1, 0.5)
    return f"did you mean {matches[0]}?" if matches else f"the keys are {', '.join(KEYS)}"


def _default(key: Key, environment: Mapping[str, str], home: str) -> Value:
    if key.name == "store" and (data := environment.get("XDG_DATA_HOME")):
        return os.path.abspath(os.path.join(data, "ccgrep"))
    return _path(key.default, home, "") if key.kind == "path" else key.default


def _parse_variable(key: Key, text: str, variable: str) -> Any:
    """Return the text of a variable as the value that the file would have."""
    if variable == "NO_COLOR":
        return "never"
    if key.kind in ("paths", "patterns", "words"):
        return text.split("," if key.kind == "words" else os.pathsep)
    if key.kind in ("count", "number"):
        try:
            return int(text) if key.kind == "count" else float(text)
        except ValueError:
            return text  # `_validate` rejects it.
    return text


def _validate(key: Key, value: Any, origin: str, home: str, base: str) -> Value:
    is_valid, expected = _RULES[key.kind]
    if not is_valid(key, value):
        expected = expected.format(words=", ".join(key.words), maximum=f"{key.maximum:g}")
        raise UsageError(f"{one_line(origin)} must be {expected}, not {one_line(repr(value))}")
    if key.kind == "path":
        if not _is_utf8(value):
            shown = one_line(os.fsencode(value).decode("utf-8", "backslashreplace"))
            raise UsageError(f"{one_line(origin)} is not UTF-8: {shown}; rename the directory")
        return _path(value, home, base)
    if key.kind == "paths":
        return tuple(_path(path, home, base) for path in value)
    if key.kind == "patterns":
        return tuple(_pattern(pattern, home) for pattern in value)
    if key.kind == "words":
        return tuple(value)
    return float(value) if key.kind == "number" else value


def _path(path: Any, home: str, base: str) -> str:
    """Return an absolute path. `~` is the home, and a relative path starts at `base`."""
    if path == "~" or path.startswith("~/"):
        path = home + path[1:]
    return os.path.abspath(os.path.join(base, path))


def _pattern(pattern: str, home: str) -> str:
    """Return an absolute pattern. `~` is the home, and a bare name matches at any depth."""
    if pattern == "~" or pattern.startswith("~/"):
        return os.path.normpath(home) + pattern[1:].rstrip("/")
    return pattern.rstrip("/") if "/" in pattern.rstrip("/") else f"*/{pattern.rstrip('/')}"


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and "\0" not in value


def _is_utf8(path: str) -> bool:
    return not any("\ud800" <= char <= "\udfff" for char in path)


def _is_path(_: Key, value: Any) -> bool:
    return _is_text(value) and bool(value)


def _is_paths(key: Key, value: Any) -> bool:
    return isinstance(value, list) and all(_is_path(key, path) for path in value)


def _is_number(key: Key, value: Any) -> bool:
    is_numeric = isinstance(value, int | float) and not isinstance(value, bool)
    return is_numeric and 0 <= value <= key.maximum


_RULES: dict[Kind, tuple[Callable[[Key, Any], bool], str]] = {
    "text": (lambda _, value: _is_text(value), "text in quotes"),
    "path": (_is_path, "a path in quotes"),
    "paths": (_is_paths, "a list of paths in quotes"),
    "patterns": (_is_paths, "a list of paths in quotes, with * and ? as wildcards"),
    "count": (
        lambda key, value: isinstance(value, int) and _is_number(key, value),
        "a whole number, 0 or more",
    ),
    "number": (_is_number, "a number from 0 to {maximum}"),
    "word": (lambda key, value: value in key.words, "one of {words}"),
    "words": (
        lambda key, value: (
            isinstance(value, list) and 0 < len(value) == sum(map(key.words.count, value))
        ),
        "a list of one or more of {words}",
    ),
}

"""Finds the commands that a shell script runs, and names its main command as recall does.

It parses with tree-sitter's bash grammar. bashlex fails on heredocs, `[[`, arithmetic and `case`,
and takes 30 times as long. Only the first words count of a script that does not parse, or that is
so long that a hostile one could take seconds. Nothing here runs a script or decides what is safe.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from ccgrep.model import ToolCall
from ccgrep.sources.file_tools import SHELL_TOOLS

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

_TOOLS = SHELL_TOOLS - {"exec"}
SHELLS = frozenset(["sh", "bash", "zsh", "dash"])
_MAX_PARSED_CHARS = 4096
"""Syntax errors take up to quadratic time: 4 kB take at most a second."""
_MAX_NAME = 64

SUB_TOOLS = frozenset("git kubectl docker npm yarn pnpm cargo go uv pip brew apt systemctl".split())
"""Tools whose first argument is a subcommand."""

_TAKE_VALUE = {
    "git": "-C -c --git-dir --work-tree --namespace --config-env",
    "kubectl": "-n --namespace --context --kubeconfig --cluster --user -s --server --as --token",
    "docker": "-H --host -c --context --config -l --log-level",
    "npm": "-w --workspace -C --prefix",
    "pnpm": "-C --dir -F --filter",
    "yarn": "--cwd",
    "cargo": "--config -Z --color -C",
    "go": "-C",
    "uv": "--directory --project --config-file --cache-dir --color",
    "pip": "--python --log --proxy --cert --timeout --retries",
    "apt": "-o -c -t",
    "systemctl": "-H --host -M --machine -p --property -t --type",
    "sudo": "-u --user -g --group -h --host -p --prompt -C -D --chdir -R -r -t -T -U",
    "doas": "-u -C",
    "env": "-u --unset -C --chdir -S",
    "timeout": "-k --kill-after -s --signal",
    "nice": "-n --adjustment",
    "ionice": "-c -n",
    "stdbuf": "-i -o -e",
    "time": "-f -o",
}
"""Options before the subcommand or the wrapped command that take a value."""

_WRAPPERS = dict.fromkeys("sudo doas env nice ionice stdbuf time nohup setsid".split(), 0)
_WRAPPERS["timeout"] = 1
"""Commands that run another command, and the number of their own arguments before it."""

_DIRECTORY_CHANGES = frozenset(["cd", "pushd"])
_JOINTS = frozenset(["list", "pipeline", "subshell", "compound_statement", "function_definition"])
_CONTROLS = frozenset(
    "if_statement for_statement c_style_for_statement while_statement case_statement".split()
)
_COMMANDS = frozenset(["command", "declaration_command", "unset_command", "test_command"])
_INERT = frozenset(
    "program list pipeline command command_name word number raw_string string string_content"
    " simple_expansion variable_name special_variable_name concatenation redirected_statement"
    ' file_redirect file_descriptor && || ; | " $ > >> &> &>> >&'.split()
) | {"\n"}
"""The nodes of a script that hides no command: no substitution and no control structure."""

_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=")
_FIRST_WORD = re.compile(r"\s*(?:[A-Za-z_]\w*=(?:'[^']*'|\"[^\"]*\"|[^\s'\"]*)\s+)*([^\s;|&()<>]+)")
_HEREDOC = re.compile(r"<<-?\s*['\"]?(\w+)")
_OPERATOR = re.compile(r"[|;&\n]")
_BEYOND_ASCII = re.compile("[^\x00-\x7f]")


class Part(NamedTuple):
    """A simple command. A word whose value only the shell knows is None.

    `text` is the source text. `is_bare` means that no variable assignment precedes the command.
    """

    words: tuple[str | None, ...]
    text: str
    is_bare: bool = True


class Script(NamedTuple):
    """The commands of a script. `is_plain` means that it does nothing beyond `parts`."""

    parts: tuple[Part, ...]
    is_compound: bool = False
    is_plain: bool = False
    base: str = ""
    sub: str = ""
    is_privileged: bool = False


def script_of(call: ToolCall) -> str | None:
    """Return the script that a tool call passes to a shell, or None for other calls."""
    if call.name.lower() not in _TOOLS:
        return None
    script = call.input
    if isinstance(script, dict):
        script = script.get("command", script.get("cmd"))
    if isinstance(script, list):
        return _script_of_arguments([str(word) for word in script])
    return script if isinstance(script, str) and script.strip() else None


def _script_of_arguments(words: list[str]) -> str | None:
    """Return SCRIPT from `bash -lc SCRIPT`, and other arguments quoted as in a shell."""
    if len(words) == 3 and words[0].rpartition("/")[2] in SHELLS and words[1] in ("-c", "-lc"):
        return words[2] if words[2].strip() else None
    import shlex  # noqa: PLC0415 - only old transcripts need it

    return shlex.join(words) or None


@lru_cache(maxsize=4096)
def parse(script: str) -> Script:
    """Return the commands of a script, or its first words if it cannot be parsed."""
    source = script if len(script) <= _MAX_PARSED_CHARS else _empty_heredocs(script)
    if len(source) > _MAX_PARSED_CHARS:
        return _parse_first_words(script)
    # The grammar's scanner passes any character to C's ctype functions, which crash beyond ASCII.
    root = _parser().parse(_BEYOND_ASCII.sub("%", source).encode()).root_node
    if root.has_error:
        return _parse_first_words(script)
    nodes = list(_walk(root))
    parts = tuple(_part(node, source) for node in nodes if node.type in _COMMANDS)
    statements = sum(node.is_named and node.type != "comment" for node in root.children)
    kinds = {node.type for node in nodes}
    return _name_main_command(
        Script(
            parts,
            is_compound=statements > 1 or "&" in kinds or bool(kinds & (_JOINTS | _CONTROLS)),
            is_plain=kinds <= _INERT and all(_is_harmless_redirect(node, source) for node in nodes),
        )
    )


def _empty_heredocs(script: str) -> str:
    """Empty the heredocs of a script: they make most long scripts long."""
    kept: list[str] = []
    delimiter = ""
    for line in script.split("\n"):
        if delimiter and line.strip() != delimiter:
            continue
        heredoc = None if delimiter else _HEREDOC.search(line)
        delimiter = heredoc[1] if heredoc else ""
        kept.append(line)
    return "\n".join(kept)


@lru_cache(maxsize=1)
def _parser() -> "Parser":
    from tree_sitter import Language, Parser  # noqa: PLC0415 - only when commands are tallied
    from tree_sitter_bash import language  # noqa: PLC0415

    return Parser(Language(language()))


def _walk(root: "Node") -> Iterator["Node"]:
    """Yield every node in source order, without recursion because scripts may nest deeply."""
    stack = [root]
    while stack:
        node = stack.pop()
        yield node
        stack += reversed(node.children)


def _part(node: "Node", source: str) -> Part:
    words: list[str | None] = []
    is_bare = True
    for child in node.children:
        if child.type == "variable_assignment" and node.type == "command":
            is_bare = False
        elif child.type != "herestring_redirect":
            words.append(_literal(child, source))
    return Part(tuple(words), _text(node, source), is_bare)


def _text(node: "Node", source: str) -> str:
    """Return the source of a node. The parsed text has one byte per character."""
    return source[node.start_byte : node.end_byte]


def _literal(node: "Node", source: str) -> str | None:
    """Return the value of a word, or None if only the shell could expand it."""
    match node.type:
        case "command_name":
            return _literal(node.children[0], source) if node.children else None
        case "word" | "number" | "variable_name":
            text = _text(node, source)
            if text.startswith("~"):
                return None
            return re.sub(r"\\(.)", r"\1", text) if "\\" in text else text
        case "raw_string":
            return _text(node, source)[1:-1]
        case "string":
            inner = [child for child in node.children if child.type != '"']
            if all(child.type == "string_content" for child in inner):
                return "".join(_text(child, source) for child in inner)
            return None
        case "concatenation":
            parts = [_literal(child, source) for child in node.children]
            return None if None in parts else "".join(filter(None, parts))
    return _text(node, source) if not node.is_named else None


def _is_harmless_redirect(node: "Node", source: str) -> bool:
    """Return whether a redirection writes no file: its target is /dev/null or an open stream."""
    if node.type != "file_redirect":
        return True
    operator = next((c.type for c in node.children if c.type not in ("file_descriptor",)), "")
    target = node.child_by_field_name("destination")
    name = _text(target, source) if target is not None else ""
    return name in ("1", "2") if operator == ">&" else name == "/dev/null"


def _parse_first_words(script: str) -> Script:
    first = _FIRST_WORD.match(script[:_MAX_PARSED_CHARS])
    line = script[first.start(1) : _MAX_PARSED_CHARS].partition("\n")[0] if first else ""
    words = tuple(word.strip("'\"") for word in re.split(r"[\s;|&()<>]+", line) if word)
    is_compound = bool(_OPERATOR.search(script.strip()[:_MAX_PARSED_CHARS]))
    return _name_main_command(Script((Part(words, line),) if words else (), is_compound))


def _name_main_command(script: Script) -> Script:
    """Set the main command: the first one that does not change the directory."""
    parts = script.parts
    while len(parts) > 1 and parts[0].words[:1] and parts[0].words[0] in _DIRECTORY_CHANGES:
        parts = parts[1:]
    if not parts:
        return script
    words, is_privileged = _skip_wrappers(parts[0].words)
    base = _name(words[0] if words else None, parts[0].text).rpartition("/")[2]
    sub = _subcommand(base, words[1:]) if base in SUB_TOOLS else ""
    return script._replace(base=base, sub=sub, is_privileged=is_privileged)


def _name(word: str | None, text: str) -> str:
    """Return a command's name, or the source text if only the shell could expand it."""
    name = word if word is not None else " ".join(text.split()[:1])
    return name[:_MAX_NAME]


def _skip_wrappers(words: tuple[str | None, ...]) -> tuple[tuple[str | None, ...], bool]:
    """Return the command that `sudo`, `env` or `timeout` runs, and whether it runs as root."""
    is_privileged = False
    while words and words[0] is not None:
        name = words[0].rpartition("/")[2]
        if name not in _WRAPPERS:
            break
        inner = _skip_options(name, words[1:])
        while inner and inner[0] is not None and _ASSIGNMENT.match(inner[0]):
            inner = inner[1:]
        inner = inner[_WRAPPERS[name] :]
        if not inner:
            break
        is_privileged = is_privileged or name in ("sudo", "doas")
        words = inner
    return words, is_privileged


def _skip_options(name: str, words: tuple[str | None, ...]) -> tuple[str | None, ...]:
    """Return `words` without leading options and their values."""
    take_value = _TAKE_VALUE.get(name, "").split()
    while words and words[0] is not None and words[0].startswith(("-", "+")):
        words = words[2:] if words[0] in take_value else words[1:]
    return words


def _subcommand(base: str, words: tuple[str | None, ...]) -> str:
    rest = _skip_options(base, words)
    word = rest[0] if rest else None
    return word[:_MAX_NAME] if word and re.fullmatch(r"[A-Za-z][\w:.-]*", word) else ""

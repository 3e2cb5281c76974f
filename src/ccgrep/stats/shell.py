"""Which commands does a shell script run? A grammar answers; recall's rules stand on top.

tree-sitter's grammar of bash, because it knows heredocs, `[[`, arithmetic and `case`, on which
bashlex fails, takes a thirtieth of its time, and gives a tree for anything. A script that does
not parse, or is so long that a hostile one could take seconds, is looked at by its first words
alone. Nothing here runs anything, and nothing here decides what is safe.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from ccgrep.model import ToolCall

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

_TOOLS = frozenset(["bash", "shell", "shell_command", "exec_command", "local_shell"])
SHELLS = frozenset(["sh", "bash", "zsh", "dash"])
_MAX_PARSED_CHARS = 4096
"""What does not parse takes up to a square of its length: four kilobytes at most a second."""
_MAX_NAME = 64

SUB_TOOLS = frozenset("git kubectl docker npm yarn pnpm cargo go uv pip brew apt systemctl".split())
"""Tools whose first argument says what they do."""

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
"""Options before the subcommand, or before the command, that are followed by their value."""

_WRAPPERS = dict.fromkeys("sudo doas env nice ionice stdbuf time nohup setsid".split(), 0)
_WRAPPERS["timeout"] = 1
"""Commands that run another one, and how many words of their own stand before it."""

_MOVES = frozenset(["cd", "pushd"])
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
"""What a script may consist of whose every command can be seen: no substitution, no control."""

_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=")
_FIRST_WORD = re.compile(r"\s*(?:[A-Za-z_]\w*=(?:'[^']*'|\"[^\"]*\"|[^\s'\"]*)\s+)*([^\s;|&()<>]+)")
_HEREDOC = re.compile(r"<<-?\s*['\"]?(\w+)")
_OPERATOR = re.compile(r"[|;&\n]")
_BEYOND_ASCII = re.compile("[^\x00-\x7f]")


class Part(NamedTuple):
    """One simple command. A word that only the shell could tell is `None`.

    `text` is how it begins, as typed; `is_bare` says that no variable is set before it.
    """

    words: tuple[str | None, ...]
    text: str
    is_bare: bool = True


class Script(NamedTuple):
    """What a script runs. `is_plain` says that `parts` is all it does, but for reading."""

    parts: tuple[Part, ...]
    is_compound: bool = False
    is_plain: bool = False
    base: str = ""
    sub: str = ""
    is_privileged: bool = False


def script_of(call: ToolCall) -> str | None:
    """The script that a call hands to a shell; `None` when it is no such call."""
    if call.name.lower() not in _TOOLS:
        return None
    given = call.input
    if isinstance(given, dict):
        given = given.get("command", given.get("cmd"))
    if isinstance(given, list):
        return _unwrapped([str(word) for word in given])
    return given if isinstance(given, str) and given.strip() else None


def _unwrapped(words: list[str]) -> str | None:
    """The script in `bash -lc SCRIPT`; other commands as they would be typed."""
    if len(words) == 3 and words[0].rpartition("/")[2] in SHELLS and words[1] in ("-c", "-lc"):
        return words[2] if words[2].strip() else None
    import shlex  # noqa: PLC0415 - for old transcripts

    return shlex.join(words) or None


@lru_cache(maxsize=4096)
def parse(script: str) -> Script:
    """The commands of a script; what cannot be parsed has its first words."""
    source = script if len(script) <= _MAX_PARSED_CHARS else _without_heredocs(script)
    if len(source) > _MAX_PARSED_CHARS:
        return _by_first_words(script)
    # The grammar's scanner asks C's ctype of any character, and dies of one that has no row there.
    root = _parser().parse(_BEYOND_ASCII.sub("%", source).encode()).root_node
    if root.has_error:
        return _by_first_words(script)
    nodes = list(_walk(root))
    parts = tuple(_part(node, source) for node in nodes if node.type in _COMMANDS)
    statements = sum(node.is_named and node.type != "comment" for node in root.children)
    kinds = {node.type for node in nodes}
    return _named(
        Script(
            parts,
            is_compound=statements > 1 or "&" in kinds or bool(kinds & (_JOINTS | _CONTROLS)),
            is_plain=kinds <= _INERT and all(_is_harmless_redirect(node, source) for node in nodes),
        )
    )


def _without_heredocs(script: str) -> str:
    """`script` with empty heredocs: they are what long scripts are long for."""
    kept: list[str] = []
    ends = ""
    for line in script.split("\n"):
        if ends and line.strip() != ends:
            continue
        found = None if ends else _HEREDOC.search(line)
        ends = found[1] if found else ""
        kept.append(line)
    return "\n".join(kept)


@lru_cache(maxsize=1)
def _parser() -> "Parser":
    from tree_sitter import Language, Parser  # noqa: PLC0415 - only when commands are tallied
    from tree_sitter_bash import language  # noqa: PLC0415

    return Parser(Language(language()))


def _walk(root: "Node") -> Iterator["Node"]:
    """Every node, in the order of the text; without recursion, since scripts may nest at will."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += reversed(node.children)


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
    """What stands there: a character is a byte in what was parsed."""
    return source[node.start_byte : node.end_byte]


def _literal(node: "Node", source: str) -> str | None:
    """The value of a word, if that can be told without running anything."""
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
            pieces = [_literal(child, source) for child in node.children]
            return None if None in pieces else "".join(filter(None, pieces))
    return _text(node, source) if not node.is_named else None


def _is_harmless_redirect(node: "Node", source: str) -> bool:
    """Whether a redirection writes no file: to /dev/null, or to another open stream."""
    if node.type != "file_redirect":
        return True
    operator = next((c.type for c in node.children if c.type not in ("file_descriptor",)), "")
    target = node.child_by_field_name("destination")
    name = _text(target, source) if target is not None else ""
    return name in ("1", "2") if operator == ">&" else name == "/dev/null"


def _by_first_words(script: str) -> Script:
    found = _FIRST_WORD.match(script[:_MAX_PARSED_CHARS])
    line = script[found.start(1) : _MAX_PARSED_CHARS].partition("\n")[0] if found else ""
    words = tuple(word.strip("'\"") for word in re.split(r"[\s;|&()<>]+", line) if word)
    is_compound = bool(_OPERATOR.search(script.strip()[:_MAX_PARSED_CHARS]))
    return _named(Script((Part(words, line),) if words else (), is_compound))


def _named(script: Script) -> Script:
    """`script` with its main command: the first, but for a change of directory before it."""
    parts = script.parts
    while len(parts) > 1 and parts[0].words[:1] and parts[0].words[0] in _MOVES:
        parts = parts[1:]
    if not parts:
        return script
    words, is_privileged = _run_by_wrappers(parts[0].words)
    base = _name(words[0] if words else None, parts[0].text).rpartition("/")[2]
    sub = _sub(base, words[1:]) if base in SUB_TOOLS else ""
    return script._replace(base=base, sub=sub, is_privileged=is_privileged)


def _name(word: str | None, text: str) -> str:
    """A command's name; of one that only the shell could tell, what stands for it."""
    shown = word if word is not None else " ".join(text.split()[:1])
    return shown[:_MAX_NAME]


def _run_by_wrappers(words: tuple[str | None, ...]) -> tuple[tuple[str | None, ...], bool]:
    """The words of the command that `sudo`, `env` or `timeout` run; and whether as root."""
    is_privileged = False
    while words and words[0] is not None:
        name = words[0].rpartition("/")[2]
        if name not in _WRAPPERS:
            break
        inner = _behind_options(name, words[1:])
        while inner and inner[0] is not None and _ASSIGNMENT.match(inner[0]):
            inner = inner[1:]
        inner = inner[_WRAPPERS[name] :]
        if not inner:
            break
        is_privileged = is_privileged or name in ("sudo", "doas")
        words = inner
    return words, is_privileged


def _behind_options(name: str, words: tuple[str | None, ...]) -> tuple[str | None, ...]:
    """`words` from the first on that is no option, nor the value of one."""
    take_value = _TAKE_VALUE.get(name, "").split()
    while words and words[0] is not None and words[0].startswith(("-", "+")):
        words = words[2:] if words[0] in take_value else words[1:]
    return words


def _sub(base: str, words: tuple[str | None, ...]) -> str:
    left = _behind_options(base, words)
    word = left[0] if left else None
    return word[:_MAX_NAME] if word and re.fullmatch(r"[A-Za-z][\w:.-]*", word) else ""

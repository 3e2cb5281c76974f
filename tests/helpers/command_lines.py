"""Find the words that the tests pass to ccgrep, by reading the source of the tests.

A call counts if it runs ccgrep: `home.run(...)`, `main(...)`, a list with "ccgrep" in it, or a
function that passes its own parameter to such a call. Names in the arguments are replaced by the
values that the function, its parametrization or the module assigns to them.
"""

import ast
import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

_TESTS = Path(__file__).parents[1]
_RUNNERS = {"run", "json", "main", "run_on_terminal", "imported_modules", "run_many"}
_SHELLS = {"type", "start", "bash"}
"""Functions that pass a line to a shell: only the words after `ccgrep` count."""
_SERVERS = {"run_with_server"}
_SHELL_COMMAND = re.compile(r"\bccgrep ([^|;&`\n]*)")

_Function = ast.FunctionDef | ast.AsyncFunctionDef
_Values = dict[str, list[ast.expr]]


class _Call(NamedTuple):
    arguments: list[ast.expr]
    is_shell: bool = False


@cache
def ccgrep_calls() -> list[frozenset[str]]:
    """Return the words that each call in the tests may pass to ccgrep."""
    modules = [_Module(path) for path in _TESTS.rglob("*.py")]
    return [words for module in modules for words in module.words()]


class _Module:
    def __init__(self, path: Path) -> None:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        self._functions = [n for n in ast.walk(tree) if isinstance(n, _Function)]
        self._values = _assignments(tree.body)
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("tests."):
                self._values |= _constants(node.module or "")
        self._runners, self._shells = set(_RUNNERS), set(_SHELLS)
        count = 0
        while count < (count := len(self._runners) + len(self._shells)):
            for function in self._functions:
                for call in self._passed_on(function):
                    (self._shells if call.is_shell else self._runners).add(function.name)

    def words(self) -> Iterator[frozenset[str]]:
        for function in self._functions:
            values = {**self._values, **_assignments(ast.walk(function)), **_parameters(function)}
            for call in self._calls(function):
                yield frozenset(_words(call, values))

    def _calls(self, function: _Function) -> Iterator[_Call]:
        for node in ast.walk(function):
            if isinstance(node, ast.Call):
                called = node.func
                last = getattr(called, "attr", getattr(called, "id", ""))
                if last == "run" and ast.unparse(called) == "subprocess.run":
                    continue
                if last in _SERVERS:
                    yield _Call([ast.Constant("mcp"), *node.args])
                elif last in self._runners | self._shells:
                    yield _Call(node.args, last in self._shells)
            elif isinstance(node, ast.List | ast.Tuple) and any(
                isinstance(item, ast.Constant) and item.value == "ccgrep" for item in node.elts
            ):
                yield _Call(node.elts)

    def _passed_on(self, function: _Function) -> Iterator[_Call]:
        """Yield the calls to which the function, or one inside it, passes its parameters."""
        inner = [n for n in ast.walk(function) if isinstance(n, _Function)]
        own = {a.arg for f in inner for a in (*f.args.args, f.args.vararg) if a is not None}
        for call in self._calls(function):
            names = {n.id for a in call.arguments for n in ast.walk(a) if isinstance(n, ast.Name)}
            if names & own and not function.name.startswith("test_"):
                yield call


@cache
def _constants(module: str) -> _Values:
    path = _TESTS.parent / f"{module.replace('.', '/')}.py"
    return _assignments(ast.parse(path.read_text(encoding="utf-8")).body) if path.exists() else {}


def _assignments(nodes: Iterable[ast.AST]) -> _Values:
    """Return the values that are assigned to each name."""
    found: _Values = {}
    for node in nodes:
        if isinstance(node, ast.Assign):
            targets, value = node.targets, node.value
        elif isinstance(node, ast.AnnAssign | ast.AugAssign) and node.value is not None:
            targets, value = [node.target], node.value
        elif isinstance(node, ast.For | ast.comprehension):
            targets, value = [node.target], node.iter
        else:
            continue
        for name in (n for target in targets for n in ast.walk(target)):
            if isinstance(name, ast.Name):
                found.setdefault(name.id, []).append(value)
    return found


def _parameters(function: _Function) -> _Values:
    """Return the values of `pytest.mark.parametrize` by parameter name."""
    found: _Values = {}
    for decorator in function.decorator_list:
        if isinstance(decorator, ast.Call) and ast.unparse(decorator.func).endswith("parametrize"):
            argument, values = decorator.args[:2]
            names = re.findall(r"\w+", ast.unparse(argument))
            items = values.elts if isinstance(values, ast.List | ast.Tuple) else []
            tuples = [item.elts for item in items if isinstance(item, ast.Tuple)]
            is_split = len(names) > 1 and len(tuples) == len(items) > 0
            for position, name in enumerate(names):
                found[name] = [elts[position] for elts in tuples] if is_split else [values]
    return found


def _words(call: _Call, values: _Values) -> Iterator[str]:
    pending, seen = list(call.arguments), set[str]()
    while pending:
        for node in ast.walk(pending.pop()):
            if isinstance(node, ast.Name) and node.id not in seen:
                seen.add(node.id)
                pending += values.get(node.id, [])
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                commands = _SHELL_COMMAND.findall(node.value)
                for text in commands if commands or call.is_shell else [node.value]:
                    yield from text.split()

"""From what was typed, by the flag table, to values.

By hand, because argparse needs ten milliseconds for a table of this size, a fifth of what a
search may take, and loses `--` when options stand between words. The grammar is the usual one:
`-n5`, `-n 5`, `--limit=5`, `--limit 5`, `-il`, options and words in any order until `--`.
"""

from __future__ import annotations

from ccgrep.cli.flags import HELP, Command, Option
from ccgrep.errors import UsageError
from ccgrep.light_typing import TYPE_CHECKING, SimpleNamespace
from ccgrep.text import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, NoReturn


class HelpAskedError(Exception):
    """`-h` or `--help` was among the options; `is_whole` if it was the latter."""

    def __init__(self, is_whole: bool) -> None:
        super().__init__()
        self.is_whole = is_whole


def parse(command: Command, typed: list[str]) -> SimpleNamespace:
    """What was typed behind the command's name; an option not given is False or None."""
    return _Parser(command, typed).run()


class _Parser:
    def __init__(self, command: Command, typed: list[str]) -> None:
        self._command = command
        self._left = list(reversed(typed))
        self._options = {name: o for o in (*command.options, HELP) for name in o.names}
        self._values: dict[str, Any] = {
            value_name(option): False if option.kind == "flag" else None
            for option in command.options
        }
        self._words: list[str] = []
        self._is_dashed = any(argument.is_dashed for argument in command.arguments)

    def run(self) -> SimpleNamespace:
        while self._left:
            word = self._left.pop()
            if word == "--":
                self._words += reversed(self._left)
                break
            if word not in self._options and self._is_dashed:
                self._words.append(word)
            elif word.startswith("--"):
                self._long(word)
            elif word.startswith("-") and word != "-":
                self._cluster(word)
            else:
                self._words.append(word)
        return SimpleNamespace(**self._values, **dict(self._arguments()))

    def _long(self, word: str) -> None:
        name, equals, value = word.partition("=")
        option = self._options.get(name) or self._unknown(word)
        if option is HELP:
            raise HelpAskedError(is_whole=True)
        if option.kind == "flag":
            if equals:
                self._fail(f"{name} takes no value")
            self._set(option, "")
        else:
            self._set(option, value if equals else self._next(option))

    def _cluster(self, word: str) -> None:
        """`-il5`: flags, the last of which may take the rest of the word, or the next."""
        letters = word[1:]
        while letters:
            option = self._options.get(f"-{letters[0]}") or self._unknown(word)
            letters = letters[1:]
            if option is HELP:
                raise HelpAskedError(is_whole=False)
            if option.kind == "flag":
                self._set(option, "")
            else:
                self._set(option, letters or self._next(option))
                return

    def _next(self, option: Option) -> str:
        if not self._left:
            self._fail(f"{'/'.join(option.names)} needs a value: {option.metavar}")
        return self._left.pop()

    def _set(self, option: Option, text: str) -> None:
        name = value_name(option)
        if option.kind == "flag":
            self._values[name] = True
            return
        if option.choices and text not in option.choices:
            self._fail(f"{_long_name(option)} cannot be {text}: choose {', '.join(option.choices)}")
        if option.kind == "int":
            self._values[name] = self._number(option, text)
        elif option.kind == "list":
            self._values[name] = [*(self._values[name] or []), text]
        else:
            self._values[name] = text

    def _number(self, option: Option, text: str) -> int:
        if not (text.isascii() and text.isdigit() and len(text) < 10):
            self._fail(f"{_long_name(option)} needs a number, not {text}")
        return int(text)

    def _arguments(self) -> Iterator[tuple[str, object]]:
        """The words, as the command's only argument takes them."""
        if not self._command.arguments:
            if self._words:
                self._surplus(self._words)
            return
        (argument,) = self._command.arguments
        if not self._words and argument.repeat in "1+":
            self._fail(f"{argument.name} is missing")
        if argument.repeat in "*+":
            yield argument.name.lower(), self._words
            return
        if len(self._words) > 1:
            self._surplus(self._words[1:])
        word = self._words[0] if self._words else None
        if argument.choices and word is not None and word not in argument.choices:
            choices = ", ".join(argument.choices)
            self._fail(f"{argument.name} cannot be {word}: choose {choices}", self._search_hint())
        yield argument.name.lower(), word

    def _unknown(self, word: str) -> Option:
        import difflib  # noqa: PLC0415 - for the one who mistyped

        near = difflib.get_close_matches(word.partition("=")[0], self._options, 1)
        hint = f", did you mean {near[0]}?" if near else ""
        self._fail(f"unrecognized arguments: {word}{hint}")

    def _surplus(self, words: list[str]) -> None:
        self._fail(f"unrecognized arguments: {' '.join(words)}", self._search_hint())

    def _search_hint(self) -> str:
        words = " ".join([self._command.name, *self._words])
        return f"; to search for these words: `ccgrep search {words}`"

    def _fail(self, message: str, hint: str = "") -> NoReturn:
        raise UsageError(
            f"{one_line(message)}; see `ccgrep {self._command.name} --help`{one_line(hint)}"
        )


def value_name(option: Option) -> str:
    """The name under which an option's value is found: its first long name."""
    return _long_name(option).lstrip("-").replace("-", "_")


def _long_name(option: Option) -> str:
    return next((n for n in option.names if n.startswith("--")), option.names[0])

"""Parse a command line according to the flag table.

The grammar is the usual one: `-n5`, `-n 5`, `--limit=5`, `--limit 5`, `-il`, options and words in
any order until `--`. argparse would take ten milliseconds for a table of this size, a fifth of a
search, and it drops `--` if options precede it.
"""

from __future__ import annotations

from ccgrep.cli.flags import HELP, SOURCE, Command, Option
from ccgrep.errors import UsageError
from ccgrep.light_typing import TYPE_CHECKING, SimpleNamespace
from ccgrep.text import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, NoReturn

_MAX_NUMBER = 999_999_999


class HelpAskedError(Exception):
    """Raised for `-h` and, with `is_whole`, for `--help`."""

    def __init__(self, is_whole: bool) -> None:
        super().__init__()
        self.is_whole = is_whole


def parse(command: Command, words: list[str]) -> SimpleNamespace:
    """Parse the words after the command's name. An option not given is False or None."""
    return _Parser(command, words).parse()


class _Parser:
    def __init__(self, command: Command, words: list[str]) -> None:
        self._command = command
        self._rest = list(reversed(words))
        self._options = {name: o for o in (*command.options, HELP) for name in o.names}
        self._values: dict[str, Any] = {
            value_name(option): None if option.value else False for option in command.options
        }
        self._positionals: list[str] = []
        self._given: dict[str, str] = {}  # each name of a given option, and the name typed

    def parse(self) -> SimpleNamespace:
        may_start_with_dash = any(a.may_start_with_dash for a in self._command.arguments)
        while self._rest:
            word = self._rest.pop()
            if word == "--":
                self._positionals += reversed(self._rest)
                break
            if word not in self._options and may_start_with_dash:
                self._positionals.append(word)
            elif word.startswith("--"):
                self._parse_long(word)
            elif word.startswith("-") and word != "-":
                self._parse_cluster(word)
            else:
                self._positionals.append(word)
        self._check_conflicts()
        return SimpleNamespace(**self._values, **dict(self._arguments()))

    def _parse_long(self, word: str) -> None:
        name, equals, value = word.partition("=")
        option = self._options.get(name) or self._fail_unknown(word)
        if option is HELP:
            raise HelpAskedError(is_whole=True)
        if equals and not option.value:
            self._fail(f"{name} takes no value, but '{value}' was given", f"use {name}")
        self._set(option, name, value if equals else None)

    def _parse_cluster(self, word: str) -> None:
        """Parse `-il5`: flags, then an option whose value is the rest or the next word."""
        letters = word[1:]
        while letters:
            name, letters = f"-{letters[0]}", letters[1:]
            option = self._options.get(name) or self._fail_unknown(word)
            if option is HELP:
                raise HelpAskedError(is_whole=False)
            self._set(option, name, letters or None)
            if option.value:
                return

    def _set(self, option: Option, typed: str, text: str | None) -> None:
        name = value_name(option)
        self._given.update(dict.fromkeys(option.names, typed))
        if not option.value:
            self._values[name] = True
            return
        if text is None:
            if not self._rest:
                long = _long_name(option)
                self._fail(f"{long} needs a value", f"use {long} {option.placeholder}")
            text = self._rest.pop()
        if option.choices and text not in option.choices and not _is_plugin(option, text):
            self._fail_choice(_long_name(option), text, option.choices)
        if option.value == "N":
            if not (text.isascii() and text.isdigit() and len(text) <= len(str(_MAX_NUMBER))):
                problem = f"invalid value '{text}' for {_long_name(option)}"
                self._fail(problem, f"use a whole number, at most {_MAX_NUMBER:,}")
            self._values[name] = int(text)
        elif option.is_repeatable:
            self._values[name] = [*(self._values[name] or []), text]
        else:
            self._values[name] = text

    def _check_conflicts(self) -> None:
        if len(set(self._given.values())) < 2:
            return
        from ccgrep.cli.conflicts import find_conflict  # noqa: PLC0415 - only for several options

        if pair := find_conflict(self._command.name, self._given):
            self._fail(f"{pair[0]} and {pair[1]} cannot be combined", "use one of them")

    def _arguments(self) -> Iterator[tuple[str, object]]:
        """Assign the positional words to the command's only argument, if it takes one."""
        words = self._positionals
        if not self._command.arguments:
            if words:
                self._fail_unexpected(words)
            return
        (argument,) = self._command.arguments
        if not words and argument.repeat in "1+":
            self._fail(f"{argument.name} is missing")
        if argument.repeat in "*+":
            yield argument.attribute, words
            return
        if len(words) > 1:
            self._fail_unexpected(words[1:])
        if argument.choices and words and words[0] not in argument.choices:
            self._fail_choice(argument.name, words[0], argument.choices, self._search_hint())
        yield argument.attribute, words[0] if words else None

    def _fail_unknown(self, word: str) -> NoReturn:
        from ccgrep.cli.suggest import suggest_option  # noqa: PLC0415 - only for mistyped options

        hint = suggest_option(word, self._options)
        if not hint and self._command.name == "search":
            hint = f"to search for it, put -- before it: `ccgrep -- {word}`"
        self._fail(f"unknown option '{word}'", hint)

    def _fail_choice(
        self, name: str, text: str, choices: tuple[str, ...], hint: str = ""
    ) -> NoReturn:
        self._fail(f"invalid value '{text}' for {name}", f"use one of {', '.join(choices)}{hint}")

    def _fail_unexpected(self, words: list[str]) -> NoReturn:
        help = f"see `ccgrep {self._command.name} --help`"
        self._fail(f"unexpected argument '{' '.join(words)}'", f"{help}{self._search_hint()}")

    def _search_hint(self) -> str:
        words = " ".join([self._command.name, *self._positionals])
        return f", or search for these words with `ccgrep search {words}`"

    def _fail(self, problem: str, fix: str = "") -> NoReturn:
        fix = fix or f"see `ccgrep {self._command.name} --help`"
        raise UsageError(one_line(f"{problem}: {fix}"))


def value_name(option: Option) -> str:
    """Return the attribute that holds an option's value, after its first long name."""
    return _long_name(option).lstrip("-").replace("-", "_")


def _long_name(option: Option) -> str:
    return next((n for n in option.names if n.startswith("--")), option.names[0])


def _is_plugin(option: Option, text: str) -> bool:
    """Return whether a value of `--source` is the agent of a plug-in."""
    if option is not SOURCE:
        return False
    from ccgrep.sources.plugins import load_plugins  # noqa: PLC0415 - only for an unknown value

    return text.replace("-", "_") in load_plugins().by_name

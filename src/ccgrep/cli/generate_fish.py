"""Fill the template of the fish completions: one line per option of each command."""

from collections.abc import Iterator

from ccgrep.cli.flags import COMMANDS, HELP, Argument, Command, Option


def parts() -> dict[str, str]:
    begin = "complete -c ccgrep -n __ccgrep_is_first"
    commands = (f"{begin} -a {c.name} -d {_quote(c.summary)}" for c in COMMANDS.values())
    options = (line for command in COMMANDS.values() for line in _command(command))
    return {
        "names": " ".join(COMMANDS),
        "commands": "\n".join(commands),
        "options": "\n".join(options),
    }


def _command(command: Command) -> Iterator[str]:
    begin = f"complete -c ccgrep -n '__ccgrep_is {command.name}'"
    for option in (*command.options, HELP):
        names = " ".join(
            f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in option.names
        )
        values = f" {_values(option)}" if option.value else ""
        yield f"{begin} {names}{values} -d {_quote(option.summary)}"
    for argument in command.arguments:
        if argument.choices or argument.completion:
            yield f"{begin} -n 'not __ccgrep_is_first' {_values(argument)}"


def _values(item: Option | Argument) -> str:
    if item.choices:
        return f"-x -a {_quote(' '.join(item.choices))}"
    if item.completion == "file":
        return "-r -F"
    if item.completion == "dir":
        return "-x -a '(__fish_complete_directories)'"
    return f"-x -k -a '(__ccgrep_live {item.completion})'" if item.completion else "-x"


def _quote(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"

"""Generate the man pages and shell completions from the flag table.

`scripts/generate` writes them into the repository, `ccgrep completions` and `ccgrep setup shell`
print and install them. A search never imports this module.
"""

import os
import re
from collections.abc import Callable

from ccgrep.cli import generate_bash, generate_fish, generate_man, generate_zsh
from ccgrep.cli.flags import COMMANDS

COMPLETIONS: dict[str, tuple[str, Callable[[], dict[str, str]]]] = {
    "bash": ("completions/ccgrep.bash", generate_bash.parts),
    "zsh": ("completions/_ccgrep", generate_zsh.parts),
    "fish": ("completions/ccgrep.fish", generate_fish.parts),
}
"""The file in the repository and what replaces the `@name@` marks of the template, by shell."""


def completions(shell: str) -> str:
    parts = COMPLETIONS[shell][1]()
    return re.sub(r"@(\w+)@", lambda mark: parts[mark[1]], _read("templates", shell))


def keys(shell: str) -> str:
    """Return the script that binds the keys."""
    return _read("keys", shell)


def _read(directory: str, shell: str) -> str:
    path = os.path.join(os.path.dirname(__file__), directory, f"ccgrep.{shell}")
    with open(path, encoding="utf-8") as file:
        return file.read()


def files() -> dict[str, str]:
    """Return the text of every generated file by its path in the repository."""
    texts = {"man/ccgrep.1": generate_man.main_page()}
    for command in COMMANDS.values():
        texts[f"man/ccgrep-{command.name}.1"] = generate_man.command_page(command)
    for shell, (path, _) in COMPLETIONS.items():
        texts[path] = completions(shell)
    return texts

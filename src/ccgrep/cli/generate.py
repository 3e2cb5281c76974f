"""Generate the man pages and shell completions from the flag table.

`scripts/generate` writes them into the repository, `ccgrep completions` and `ccgrep setup shell`
print and install them. A search never imports this module.
"""

from __future__ import annotations

from ccgrep.cli import generate_bash, generate_fish, generate_man, generate_zsh
from ccgrep.cli.flags import COMMANDS
from ccgrep.light_typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

COMPLETIONS: dict[str, tuple[str, Callable[[], str]]] = {
    "bash": ("completions/ccgrep.bash", generate_bash.script),
    "zsh": ("completions/_ccgrep", generate_zsh.script),
    "fish": ("completions/ccgrep.fish", generate_fish.script),
}
"""The file in the repository and the generator, by shell."""


def completions(shell: str) -> str:
    return COMPLETIONS[shell][1]()


def files() -> dict[str, str]:
    """Return the text of every generated file by its path in the repository."""
    texts = {"man/ccgrep.1": generate_man.main_page()}
    for command in COMMANDS.values():
        texts[f"man/ccgrep-{command.name}.1"] = generate_man.command_page(command)
    for path, script in COMPLETIONS.values():
        texts[path] = script()
    return texts

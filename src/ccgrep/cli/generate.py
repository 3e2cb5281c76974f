"""Every file that follows from the flag table: man pages and completions.

Imported by the commands that print or install them, by `scripts/generate` and by the test that
compares the repository with the table; never by a search.
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
"""For each shell the file in the repository and what makes its text."""


def completions(shell: str) -> str:
    return COMPLETIONS[shell][1]()


def files() -> dict[str, str]:
    """Path in the repository → text."""
    made = {"man/ccgrep.1": generate_man.main_page()}
    for command in COMMANDS.values():
        made[f"man/ccgrep-{command.name}.1"] = generate_man.command_page(command)
    for path, script in COMPLETIONS.values():
        made[path] = script()
    return made

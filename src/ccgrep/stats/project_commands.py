"""Finds commands that run the project's own code or tools, for a person to review.

None of them is provably read-only: `npm test` runs whatever package.json says. So they are offered
as exact commands only, never as a prefix. A command is offered if it is the whole script and begins
like one in the tables. It may have neither quotes nor an option that names another program or
configuration. Everything else stays refused.
"""

import re

from ccgrep.stats.shell import Script

_SCRIPTS = "build check format lint test type-check typecheck"
_REVIEWABLE = (
    ("Runs the project's own code", (
        ("", "jest mocha nox phpunit pytest rspec tox vitest"),
        ("npm", "test"),
        *((f"{base} run", _SCRIPTS) for base in ("npm", "pnpm", "yarn")),
        ("pnpm", "test"), ("yarn", "test"),
        ("python -m", "pytest unittest"), ("python3 -m", "pytest unittest"),
        ("uv run", "pytest ruff mypy"),
        ("cargo", "bench build check clippy test"), ("go", "build test vet"),
        ("dotnet", "build test"), ("gradle", "build check test"), ("mix", "test"),
        ("mvn", "compile test verify"), ("swift", "build test"),
        ("just", _SCRIPTS), ("make", _SCRIPTS),
    )),
    ("Runs a tool with the project's configuration", (
        ("", "black eslint flake8 golangci-lint isort mypy prettier pyright tsc"),
        ("ruff", "check format"), ("cargo", "fmt"), ("go", "fmt"),
    )),
    ("Installs locked dependencies, which can run code", (
        ("bundle", "install"), ("npm", "ci"), ("poetry", "install"), ("uv", "sync"),
    )),
    ("Runs the steps of a Dockerfile", (("docker", "build"), ("docker compose", "build"))),
    ("Reads from a cluster", (("kubectl", "describe get logs"),)),
)  # fmt: skip
_REASONS = {
    f"{start} {name}".lstrip(): reason
    for reason, families in _REVIEWABLE
    for start, names in families
    for name in names.split()
}
_WORD = re.compile(r"[A-Za-z0-9_@%+=:,.-][A-Za-z0-9_@%+=:,./-]*")
"""A word that the shell takes literally, and no absolute path."""
_RISKY = re.compile(
    r"-[ceprR]$|-?-(?:\w+-)*(?:as|command|config|configuration|connect|context|dir|directory|"
    r"env|exec|executable|file|host|kubeconfig|loader|manifest-path|plugin|plugins|prefix|preset|"
    r"python|rc|registry|require|runner|script|secret|server|setupFiles|shell|ssh|toolexec|token|"
    r"user|volume|with|wrapper)(?:=|$)"
)
"""Options that run another program, read another configuration, or leave the project."""
_ELSEWHERE = ("..", "=/", "://")
_MAX_CHARS = 80

TABLES = repr((_REVIEWABLE, _WORD.pattern, _RISKY.pattern, _ELSEWHERE, _MAX_CHARS))
"""What the answers depend on."""


def find_command(script: Script) -> str:
    """Return the exact command if it is one to review, else an empty text."""
    if len(script.parts) != 1 or script.is_compound or not script.is_plain:
        return ""
    (part,) = script.parts
    words = part.text.split(" ")
    command = " ".join(words)
    if not part.is_bare or part.words != tuple(words) or len(command) > _MAX_CHARS:
        return ""  # Quotes, tabs and variables may hide another command.
    leaves_project = any(sign in command for sign in _ELSEWHERE)
    is_literal = all(map(_WORD.fullmatch, words)) and not leaves_project
    is_risky = any(_RISKY.match(word) or word.startswith("secret") for word in _options(words))
    return command if is_literal and not is_risky and find_reason(command) else ""


def find_reason(command: str) -> str:
    """Return why a command needs a review, or an empty text if it is not one to review."""
    words = command.split()
    prefixes = (" ".join(words[:count]) for count in (3, 2, 1))
    return next((_REASONS[prefix] for prefix in prefixes if prefix in _REASONS), "")


def _options(words: list[str]) -> list[str]:
    """Return the words after the command, of which `python -m` is a part."""
    return words[2:] if words[1:2] == ["-m"] else words[1:]

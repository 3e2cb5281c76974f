"""Which commands may be allowed for good? Tables of what is known to be read-only.

A rule that is printed is a prefix, `Bash(git status:*)`: whoever puts it into their settings
allows every command that begins so, with options that were never seen. So a family is here only
if no option and no argument of it writes a file, runs another program, or talks to the network.
`git diff`, `git log` and `git show` are not (`--output=FILE`), nor `sort` (`-o`), `uniq` and `xxd`
(a second name is written to), `find` (`-exec`), `rg` (`--pre`), `tree` (`-o`), `date` (`-s`),
`test` and `printf` (`-v 'a[$(x)]'` runs x), `diff` (`-l` runs pr), `kubectl get` (`--kubeconfig`).
Some of those may be allowed as they stand, without anything behind: `Bash(git diff)`.

What is not in these tables is refused; the table of dangers only says why in better words.
"""

import hashlib
import re
from typing import NamedTuple

from ccgrep.stats.shell import SHELLS, SUB_TOOLS, Part, Script

_READERS = """
    arch basename cat cksum cmp column comm cut df dirname du echo expand false fold free grep
    groups head hexdump id jq ls md5sum nl nproc od paste ps pwd readlink realpath rev seq sha1sum
    sha256sum sha512sum shasum stat tac tail tr true type uname unexpand uptime wc which whoami
"""
_GIT_READERS = """
    check-attr check-ignore count-objects describe for-each-ref ls-files ls-tree merge-base name-rev
    rev-parse show-ref status var
"""
WHOLE_FAMILIES = frozenset([*_READERS.split(), *(f"git {sub}" for sub in _GIT_READERS.split())])
"""Safe with whatever may stand behind them."""

_SHORT_READERS = {
    "git": "branch diff log reflog remote show tag version",
    "docker": "images info ps version",
    "npm": "list ls",
    "pip": "freeze list",
    "apt": "list",
    "systemctl": "list-units status",
}
AS_THEY_STAND = frozenset(
    ["date", "hostname", "tree"]
    + [f"{base} {sub}" for base, subs in _SHORT_READERS.items() for sub in subs.split()]
)
"""Safe with nothing behind them."""

_NAME = re.compile(r"[A-Za-z0-9_-]+")

_DANGERS = (
    ("Destructive command", "rm rmdir shred dd mkfs truncate wipefs fdisk kill pkill killall"
     " shutdown reboot halt poweroff unlink"),
    ("Runs with other rights", "sudo doas su chmod chown chgrp setfacl chroot mount umount passwd"
     " useradd usermod visudo"),
    ("Can run other programs", "sh bash zsh dash fish eval exec source . xargs parallel env"
     " timeout nice nohup time watch find fd rg awk gawk perl python python3 ruby node deno bun"
     " npx uvx ssh make just npm yarn pnpm cargo go docker command builtin trap crontab at tmux"
     " screen script entr strace gdb nsenter unshare"),
    ("Can write", "tee cp mv ln install mkdir touch sed patch tar zip unzip gzip rsync apply_patch"
     " git sort uniq xxd tree split csplit ed ex vi vim nano emacs pip uv brew apt"
     " systemctl kubectl export set alias unset declare"),
    ("Uses the network", "curl wget nc ncat telnet ftp scp sftp dig nslookup gh aws gcloud http"),
)  # fmt: skip
_REASONS = {name: reason for reason, names in _DANGERS for name in names.split()}

TABLES = hashlib.sha256(
    repr((sorted(WHOLE_FAMILIES), sorted(AS_THEY_STAND), _DANGERS)).encode()
).hexdigest()[:8]
"""Changes with the tables: what was decided by others is decided anew."""


class Verdict(NamedTuple):
    """The rule that would allow a script's main command; or, without one, why there is none."""

    rule: str = ""
    reason: str = ""


def judge(script: Script) -> Verdict:
    """Whether a script may count for a rule: only if every command in it is known read-only."""
    parts = script.parts
    rules = [_rule(part) for part in parts]
    refused = [p for p, rule in zip(parts, rules, strict=True) if not rule and not _is_move(p)]
    if refused:
        return Verdict(reason=_reasons(refused))
    if not script.is_plain:
        return Verdict(reason="Writes, or hides what it runs")
    main = next((rule for part, rule in zip(parts, rules, strict=True) if not _is_move(part)), "")
    return Verdict(rule=main) if main else Verdict(reason="Only sets where the next command runs")


def _rule(part: Part) -> str:
    """The rule that covers a command as it was typed; nothing when there is none."""
    typed = part.text.split()
    if not (part.is_bare and typed and _NAME.fullmatch(typed[0]) and part.words[0] == typed[0]):
        return ""  # Behind quotes, a path or a variable stands who knows what.
    name = " ".join(typed[: 2 if typed[0] in SUB_TOOLS else 1])
    rule = _rule_of(name)
    return rule if rule and covers(rule, part.text) else ""


def _rule_of(name: str) -> str:
    if name in WHOLE_FAMILIES:
        return f"Bash({name}:*)"
    return f"Bash({name})" if name in AS_THEY_STAND else ""


def _is_move(part: Part) -> bool:
    return part.is_bare and bool(part.words) and part.words[0] == "cd"


def _reasons(parts: list[Part]) -> str:
    """The first reason; but what comes from the network and goes to a shell is named."""
    found = list(map(_reason, parts))
    names = {(part.words[0] or "").rpartition("/")[2] for part in parts if part.words}
    return "Network to a shell" if "Uses the network" in found and names & SHELLS else found[0]


def _reason(part: Part) -> str:
    word = part.words[0] if part.words else None
    if word is None:
        return "Hides what it runs"
    return _REASONS.get(word.rpartition("/")[2], "Not known to be read-only")


def covers(rule: str, command: str) -> bool:
    """Whether a rule allows a command: as Claude Code compares them, by their text."""
    pattern = rule.removeprefix("Bash(").removesuffix(")")
    family = pattern.removesuffix(":*")
    if family == pattern:
        return command == pattern
    return command == family or command.startswith(family + " ")

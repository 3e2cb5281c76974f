"""Install or remove a timer that runs `ccgrep sync`: `ccgrep setup sync`.

systemd runs it for the user, launchd on macOS. Only files that ccgrep wrote are replaced.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from xml.sax.saxutils import escape as escape_xml

from ccgrep.cli.setup_shell import Target, change_file
from ccgrep.errors import UsageError
from ccgrep.settings import home_dir

_UNITS = {"m": 60, "h": 3600, "d": 86_400}
_NAME = "ccgrep-sync"
_PASSED_ON = (
    "CCGREP_DIR",
    "CCGREP_CONFIG",
    "XDG_DATA_HOME",
    "AWS_PROFILE",
    "AWS_REGION",
    "AWS_CONFIG_FILE",
    "AWS_SHARED_CREDENTIALS_FILE",
    "GOOGLE_APPLICATION_CREDENTIALS",
    "PATH",
)
_SECRETS = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")
_OWN = "# ccgrep wrote this file. `ccgrep setup sync --remove` removes it.\n"


def setup_sync(
    environment: Mapping[str, str], every: str, is_dry: bool, is_removal: bool
) -> Iterator[str]:
    """Install or remove the timer, and yield a line for each file and for what is missing."""
    seconds = _parse_every(every)
    is_mac = sys.platform == "darwin"
    targets = (_launchd if is_mac else _systemd)(environment, seconds)
    last = targets[-1].path
    stop = ["launchctl", "unload", last] if is_mac else _systemctl("disable", "--now")
    start = ["launchctl", "load", last] if is_mac else _systemctl("enable", "--now")
    is_installed = os.path.exists(last)
    if is_removal and is_installed and not is_dry:
        yield from _call(stop, environment)
    for target in targets:
        yield change_file(target, is_dry, is_removal)
    if is_dry:
        return
    if not is_mac:
        yield from _call(["systemctl", "--user", "daemon-reload"], environment)
    if is_removal:
        return
    yield from _call(start, environment)
    if any(environment.get(name) for name in _SECRETS):
        yield f"the timer does not get {' and '.join(_SECRETS)}: run `aws configure`"


def _parse_every(text: str) -> int:
    number, unit = text[:-1], text[-1:]
    if not (number.isascii() and number.isdigit() and int(number) and unit in _UNITS):
        raise UsageError(f"invalid time '{text}' for --every: use a number and m, h or d")
    return int(number) * _UNITS[unit]


def _systemctl(*words: str) -> list[str]:
    return ["systemctl", "--user", *words, f"{_NAME}.timer"]


def _call(command: list[str], environment: Mapping[str, str]) -> Iterator[str]:
    """Run a command of the system; if that fails, yield a line that asks the user to."""
    program = shutil.which(command[0], path=environment.get("PATH"))
    done = program and subprocess.run(
        [program, *command[1:]], env=dict(environment), capture_output=True, check=False
    )
    if not done or done.returncode:
        yield f"could not run it, so run it yourself: {' '.join(command)}"


def _program(environment: Mapping[str, str]) -> list[str]:
    found = shutil.which("ccgrep", path=environment.get("PATH"))
    return [*([found] if found else [sys.executable, "-P", "-m", "ccgrep"]), "sync", "--quiet"]


def _passed_on(environment: Mapping[str, str]) -> dict[str, str]:
    return {name: environment[name] for name in _PASSED_ON if environment.get(name)}


def _systemd(environment: Mapping[str, str], seconds: int) -> list[Target]:
    home = home_dir(environment)
    config = environment.get("XDG_CONFIG_HOME") or os.path.join(home, ".config")
    folder = os.path.join(config, "systemd", "user")
    variables = "".join(
        f"Environment={_quote(f'{name}={value}')}\n"
        for name, value in _passed_on(environment).items()
    )
    service = (
        f"{_OWN}[Unit]\nDescription=Exchange sessions with the remotes of ccgrep\n\n"
        f"[Service]\nType=oneshot\n{variables}"
        f"ExecStart={' '.join(map(_quote, _program(environment)))}\nNice=10\n"
    )
    timer = (
        f"{_OWN}[Unit]\nDescription=Run ccgrep sync regularly\n\n"
        f"[Timer]\nOnStartupSec=2min\nOnUnitActiveSec={seconds}s\nRandomizedDelaySec=60\n\n"
        "[Install]\nWantedBy=timers.target\n"
    )
    return [
        Target(os.path.join(folder, f"{_NAME}.service"), service),
        Target(os.path.join(folder, f"{_NAME}.timer"), timer),
    ]


def _quote(text: str) -> str:
    """Quote a word for systemd, which expands % and $ and knows backslashes."""
    for character, escaped in (("\\", "\\\\"), ('"', '\\"'), ("%", "%%"), ("$", "$$")):
        text = text.replace(character, escaped)
    return f'"{text}"'


def _launchd(environment: Mapping[str, str], seconds: int) -> list[Target]:
    home = home_dir(environment)
    words = "".join(f"<string>{escape_xml(word)}</string>" for word in _program(environment))
    variables = "".join(
        f"<key>{name}</key><string>{escape_xml(value)}</string>"
        for name, value in _passed_on(environment).items()
    )
    text = (
        '<?xml version="1.0" encoding="UTF-8"?>\n<!--\n# ccgrep wrote this file.\n-->\n'
        '<plist version="1.0"><dict>\n'
        f"<key>Label</key><string>{_NAME}</string>\n"
        f"<key>ProgramArguments</key><array>{words}</array>\n"
        f"<key>EnvironmentVariables</key><dict>{variables}</dict>\n"
        f"<key>StartInterval</key><integer>{seconds}</integer>\n</dict></plist>\n"
    )
    return [Target(os.path.join(home, "Library", "LaunchAgents", f"{_NAME}.plist"), text)]

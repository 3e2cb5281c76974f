"""ccgrep remote: add, list or remove remotes, and manage their keys."""

import os
import sys
from types import SimpleNamespace

from ccgrep.cli.context import Context
from ccgrep.errors import UsageError
from ccgrep.ops import remote as ops
from ccgrep.ops.save_file import write_file
from ccgrep.output.json_document import encode_document
from ccgrep.output.remote_text import remote_fields, remote_lines, status_fields, status_lines
from ccgrep.text import one_line

_VERSIONED = (
    "if the bucket keeps versions or locks objects, `ccgrep forget` cannot delete them: "
    "turn that off, or expire old versions"
)


def run(arguments: SimpleNamespace, context: Context) -> int:
    word, *rest = arguments.words or ["list"]
    actions = {
        ("add", 2): _add,
        ("list", 0): _list,
        ("status", 0): _status,
        ("status", 1): _status,
        ("remove", 1): _remove,
        ("rename-machine", 1): _rename,
        ("serve", 1): _serve,
    }
    if word == "key":
        return _run_key(arguments, context, rest)
    action = actions.get((word, len(rest)))
    if action is None:
        raise UsageError(
            f"invalid arguments '{one_line(' '.join(arguments.words))}': see `ccgrep remote --help`"
        )
    action(arguments, context, rest)
    return 0


def _add(arguments: SimpleNamespace, context: Context, words: list[str]) -> None:
    name, url = words
    if ops.is_team(url):
        _add_team(arguments, context, name, url)
        return
    if arguments.project:
        raise UsageError("--project is for a team's server: use a postgres:// address")
    if arguments.no_encryption and arguments.key:
        raise UsageError("--no-encryption needs no key: leave out --key")
    key = None
    if arguments.key:
        key = ops.read_exported_key(_read_text(arguments.key), lambda: _ask_passphrase(context))
    if "://" not in url:
        url = f"file://{os.path.abspath(url)}"
    machine = arguments.machine_name or os.uname().nodename.partition(".")[0] or "machine"
    is_encrypted = not arguments.no_encryption
    added = ops.add_remote(
        context.config(),
        name,
        url,
        machine,
        arguments.endpoint or "",
        key,
        is_encrypted,
        arguments.ssh_command or "",
    )
    if not is_encrypted:
        context.warn("this remote is not encrypted: whoever reads the storage reads all sessions")
    if not url.startswith(("file://", "ssh://")):
        context.warn(_VERSIONED)
    if arguments.json:
        context.write(encode_document(remote_fields([added.info])))
        return
    verb = "made" if added.is_new else "joined"
    context.write(f"{verb} the remote {one_line(name)}: this machine is '{added.machine}'")
    if added.is_new and is_encrypted:
        context.write("keep the key safe: `ccgrep remote key export FILE` copies it")
    command = "push" if added.info.is_push_only else "sync"
    context.write(f"run `ccgrep {command} {one_line(name)}`")


def _add_team(arguments: SimpleNamespace, context: Context, name: str, url: str) -> None:
    for option in ("endpoint", "ssh_command", "key", "no_encryption", "machine_name"):
        if getattr(arguments, option):
            shown = f"--{option.replace('_', '-')}"
            raise UsageError(f"{shown} has no effect on a team's server: leave it out")
    from ccgrep.ops import team  # noqa: PLC0415 - only for a server

    projects = tuple(arguments.project or ())
    shown = team.add(context.config(), name, url, projects)
    if arguments.json:
        context.write(encode_document({"remotes": [{"name": name, "url": shown}]}))
        return
    context.write(f"added the team's server {one_line(name)}: {one_line(shown)}")
    if projects:
        context.write(f"see what would leave this machine: `ccgrep push {name} --dry-run`")
    else:
        context.write("nothing will be pushed: name projects with --project")


def _list(arguments: SimpleNamespace, context: Context, _: list[str]) -> None:
    remotes = ops.list_all(context.config())
    if arguments.json:
        context.write(encode_document(remote_fields(remotes)))
    elif not remotes:
        context.warn("there is no remote: run `ccgrep remote add NAME URL`")
    else:
        context.write_lines(remote_lines(remotes))


def _status(arguments: SimpleNamespace, context: Context, words: list[str]) -> None:
    status = ops.status(context.config(), words[0] if words else None)
    if arguments.json:
        context.write(encode_document(status_fields(status)))
    else:
        context.write_lines(status_lines(status, context.now_ms))


def _remove(_: SimpleNamespace, context: Context, words: list[str]) -> None:
    ops.remove_remote(context.config(), words[0])
    context.write(f"removed {one_line(words[0])} here: the storage itself is unchanged")


def _rename(arguments: SimpleNamespace, context: Context, words: list[str]) -> None:
    machines = ops.rename_machine(context.config(), words[0], arguments.new_id)
    context.write(f"this machine is '{one_line(machines.name(''))}' (id {machines.own})")


def _serve(_: SimpleNamespace, __: Context, words: list[str]) -> None:
    ops.serve(words[0], sys.stdin.buffer, sys.stdout.buffer)


def _run_key(arguments: SimpleNamespace, context: Context, words: list[str]) -> int:
    config = context.config()
    if words == ["show"]:
        context.write_lines(ops.describe_key(config, arguments.remote))
    elif words[:1] == ["export"] and len(words) <= 2:
        passphrase = _ask_passphrase(context, is_new=True) if arguments.passphrase else None
        text = ops.export_key(config, arguments.remote, arguments.public, passphrase)
        if len(words) == 2:
            write_file(words[1], text)
        else:
            context.write(text.rstrip())
    elif words[:1] == ["import"] and len(words) == 2:
        text = _read_text(words[1])
        key = ops.read_exported_key(text, lambda: _ask_passphrase(context))
        ops.import_key(config, arguments.remote, key)
    else:
        raise UsageError(
            f"invalid arguments 'key {one_line(' '.join(words))}': use `key show`, "
            "`key export [FILE]` or `key import FILE`"
        )
    return 0


def _read_text(path: str) -> str:
    """Return the text of a file, or of standard input if the path is -."""
    if path == "-":
        return sys.stdin.read()
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def _ask_passphrase(context: Context, is_new: bool = False) -> str:
    passphrase = context.environment.get("CCGREP_PASSPHRASE")
    if passphrase is None:
        import getpass  # noqa: PLC0415 - rare

        if not sys.stdin.isatty():
            raise UsageError("no passphrase: set CCGREP_PASSPHRASE, or use a terminal")
        passphrase = getpass.getpass("Passphrase: ")
        if is_new and getpass.getpass("Again: ") != passphrase:
            raise UsageError("the passphrases differ: try again")
    if not passphrase:
        raise UsageError("the passphrase is empty: choose another")
    return passphrase

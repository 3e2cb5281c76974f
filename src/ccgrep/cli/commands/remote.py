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

_BUCKETS = ("s3://", "gs://", "az://")
_VERSIONED = (
    "if the bucket keeps versions or locks objects, `ccgrep forget` cannot delete them: "
    "turn that off, or expire old versions"
)


def run(arguments: SimpleNamespace, context: Context) -> int:
    word, *rest = arguments.action or ["list"]
    actions = {
        ("add", 2): _add,
        ("list", 0): _list,
        ("status", 0): _status,
        ("status", 1): _status,
        ("remove", 1): _remove,
        ("rename-machine", 1): _rename,
        ("remove-machine", 1): _remove_machine,
        ("serve", 1): _serve,
    }
    if word == "key":
        return _run_key(arguments, context, rest)
    action = actions.get((word, len(rest)))
    if action is None:
        typed = one_line(" ".join(arguments.action))
        raise UsageError(f"invalid arguments '{typed}': see `ccgrep remote --help`")
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
        url = _folder_url(url)
    _refuse_useless(arguments, url)
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
    if url.startswith(_BUCKETS):
        context.warn(_VERSIONED)
    if arguments.json:
        context.write(encode_document(remote_fields([added.info])))
        return
    verb = "made" if added.is_new else "joined"
    context.write(f"{verb} the remote {name}: this machine is '{one_line(added.machine)}'")
    command = "push" if added.info.is_push_only else "sync"
    context.write(f"now run `ccgrep {command} {name}`, or `ccgrep setup sync` to do it regularly")
    if added.is_new and is_encrypted:
        context.write(
            "for other machines, and to keep it safe, copy the key: "
            f"`ccgrep remote key export FILE --remote {name}`"
        )


def _folder_url(path: str) -> str:
    """Return the address of a folder. What looks like another host is refused, as in `host:dir`."""
    if not path or ":" in path.partition("/")[0]:
        raise UsageError(
            f"'{one_line(path)}' is not an address: use file:///DIR, s3://BUCKET/PREFIX or "
            "ssh://HOST/DIR"
        )
    return f"file://{os.path.abspath(path)}"


def _refuse_useless(arguments: SimpleNamespace, url: str) -> None:
    if arguments.endpoint and not url.startswith(_BUCKETS):
        raise UsageError("--endpoint is for buckets: use an s3:// address")
    if arguments.ssh_command and not url.startswith("ssh://"):
        raise UsageError("--ssh-command is for other hosts: use an ssh:// address")


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
    elif remotes:
        context.write_lines(remote_lines(remotes))
    else:
        context.warn("there is no remote yet: run `ccgrep remote add NAME URL`")


def _status(arguments: SimpleNamespace, context: Context, words: list[str]) -> None:
    status = ops.status(context.config(), words[0] if words else None)
    for problem in status.problems:
        context.warn(problem)
    if arguments.json:
        context.write(encode_document(status_fields(status)))
    else:
        context.write_lines(status_lines(status, context.now_ms))


def _remove(_: SimpleNamespace, context: Context, words: list[str]) -> None:
    ops.remove_remote(context.config(), words[0])
    context.write(f"removed {words[0]} and its key here: the storage itself is unchanged")


def _rename(arguments: SimpleNamespace, context: Context, words: list[str]) -> None:
    machines = ops.rename_machine(context.config(), words[0], arguments.new_id)
    context.write(f"this machine is '{one_line(machines.name(''))}' (id {machines.own})")


def _remove_machine(arguments: SimpleNamespace, context: Context, words: list[str]) -> None:
    from ccgrep.ops.sync import remove_machine  # noqa: PLC0415 - it syncs, the others do not

    remove_machine(context.config(), arguments.remote, words[0])
    context.write(f"removed '{one_line(words[0])}': its sessions stay")


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
            is_public = arguments.public or ops.is_push_only(config, arguments.remote)
            half = ", the public half: it can push and not read" if is_public else ""
            context.write(f"wrote {one_line(words[1])}{half}")
            command = ops.join_command(config, arguments.remote)
            context.write(f"on the next machine, run `{one_line(command)}`")
        else:
            context.write(text.rstrip())
    elif words[:1] == ["import"] and len(words) == 2:
        text = _read_text(words[1])
        key = ops.read_exported_key(text, lambda: _ask_passphrase(context))
        name = ops.import_key(config, arguments.remote, key).name
        context.write(f"imported the key: run `ccgrep {'sync' if key.can_read else 'push'} {name}`")
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

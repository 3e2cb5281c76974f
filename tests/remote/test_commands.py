"""The commands for remotes, as a user types them."""

import json
import os
import shutil
from pathlib import Path

import pytest

from ccgrep.cli.sync_command import progress_text
from ccgrep.ops.sync import SyncOptions, fsck_remote, sync
from ccgrep.paths import move_below
from ccgrep.remote import storage
from tests.helpers import scale
from tests.helpers.clock import ManualClock
from tests.helpers.extras import require_remote
from tests.helpers.fleet import conversations
from tests.helpers.homes import Home
from tests.helpers.stored import write_session
from tests.helpers.terminal import on_terminal


@pytest.fixture
def homes(tmp_path: Path) -> tuple[Home, Home]:
    """Return two homes with a session each that share a remote."""
    require_remote()
    laptop, desktop = Home(tmp_path / "laptop"), Home(tmp_path / "desktop")
    write_session(laptop, 1)
    write_session(desktop, 2)
    url, key = f"file://{tmp_path}/nas", str(tmp_path / "key")
    run(laptop, "remote", "add", "nas", url, "--machine-name", "laptop")
    run(laptop, "remote", "key", "export", key)
    run(desktop, "remote", "add", "nas", url, "--machine-name", "desktop", "--key", key)
    return laptop, desktop


def run(home: Home, *arguments: str) -> str:
    done = home.run(*arguments)
    assert (done.returncode, done.stderr) == (0, ""), done
    return done.stdout


def sync_all(*homes: Home) -> None:
    for home in (*homes, *homes):
        run(home, "sync", "-q")


def test_push_and_pull_report_what_they_did(homes: tuple[Home, Home]) -> None:
    laptop, desktop = homes
    assert run(laptop, "push", "--dry-run") == "nas: would push 1 session, 6 objects\n"
    assert run(laptop, "push", "nas", "--limit-rate", "900M").startswith("nas: pushed 1 session (")
    assert run(laptop, "push", "--no-refresh") == "nas: pushed 0 sessions\n"
    assert run(desktop, "pull").startswith("nas: pulled 1 session (")
    (report,) = json.loads(run(desktop, "sync", "--json"))["remotes"]
    assert (report["pulled"]["sessions"], report["pushed"]["sessions"]) == (0, 1)
    done = laptop.run("push", "--limit-rate", "fast")
    assert (done.returncode, done.stderr) == (
        2,
        "ccgrep: invalid rate 'fast': use a number such as 500k or 2M\n",
    )


def test_machine_filters_searches_and_lists(homes: tuple[Home, Home]) -> None:
    laptop, desktop = homes
    sync_all(laptop, desktop)
    for name, prompt in (("laptop", "prompt 1 0"), ("desktop", "prompt 2 0")):
        hits = run(laptop, "prompt", "--machine", name).splitlines()
        assert len(hits) == 3
        assert all(prompt[:-1] in hit for hit in hits)
        scanned = run(laptop, "prompt", "--machine", name, "--no-index").splitlines()
        assert scanned == hits
        (session,) = json.loads(run(laptop, "list", "--machine", name, "--json"))["sessions"]
        assert (session["title"], session["machine"]) == (prompt, name)
        assert run(laptop, "__complete", "machine", name[:2]).startswith(name)
        assert prompt[:-1] in run(laptop, "brief", "--machine", name)
    both = ("--machine", "laptop", "--machine", "desktop")
    assert len(run(laptop, "prompt", *both).splitlines()) == 6
    assert len(run(laptop, "list", *both).splitlines()) == 2
    missed = laptop.run("answer 2 0", "-F", "--machine", "laptop").stderr
    assert "1 without the filters, leave out --machine" in missed
    listed = [line.split("\t")[3:] for line in run(laptop, "list").splitlines()]
    assert listed == [["3", "prompt 2 0", "desktop"], ["3", "prompt 1 0", "laptop"]]
    own = run(laptop, "list", "--machine", "laptop").rstrip("\n").split("\t")
    assert own[3:] == ["3", "prompt 1 0"]
    lines = on_terminal(laptop, "list", "--color=never").splitlines()
    assert [line.split()[2:] for line in lines] == [
        ["desktop", "shop", "3", "prompt", "2", "0"],
        ["laptop", "shop", "3", "prompt", "1", "0"],
    ]
    assert "Machine: desktop\n" in run(laptop, "show", json_id(laptop, "desktop"))
    done = laptop.run("prompt", "--machine", "tower")
    assert (done.returncode, done.stderr) == (
        1,
        "ccgrep: no machine is named 'tower': use one of desktop, laptop\n",
    )


def json_id(home: Home, machine: str) -> str:
    (session,) = json.loads(run(home, "list", "--machine", machine, "--json"))["sessions"]
    return str(session["id"])


def test_status_shows_who_has_forgotten(homes: tuple[Home, Home]) -> None:
    laptop, desktop = homes
    sync_all(laptop, desktop)
    forgotten = run(laptop, "forget", json_id(laptop, "desktop"))
    assert "run `ccgrep sync`; then desktop will forget it" in forgotten
    run(laptop, "sync", "-q")
    status = run(laptop, "remote", "status")
    assert "laptop (this machine): pushed 0m ago, 1 session\n" in status
    assert "desktop: pushed 0m ago, 2 sessions\n" in status
    assert "forgotten sessions: confirmed by laptop, not yet by desktop\n" in status
    assert "nas: 1 session forgotten\n" in run(desktop, "sync")
    machines = json.loads(run(laptop, "remote", "status", "nas", "--json"))["machines"]
    assert [one["missing_forgets"] for one in machines] == [0, 0]
    status = run(laptop, "remote", "status")
    assert "forgotten sessions: confirmed by laptop, desktop\n" in status
    assert desktop.run("index", "--full").returncode == 0
    assert "desktop" not in run(desktop, "list"), "its own transcript is still there"


def test_each_step_of_a_first_use_names_the_next_one(tmp_path: Path) -> None:
    require_remote()
    laptop, desktop = Home(tmp_path / "laptop"), Home(tmp_path / "desktop")
    write_session(laptop, 1)
    url, key = f"file://{tmp_path}/nas", str(tmp_path / "key")
    assert run(laptop, "remote", "add", "nas", url, "--machine-name", "laptop") == (
        "made the remote nas: this machine is 'laptop'\n"
        "now run `ccgrep sync nas`, or `ccgrep setup sync` to do it regularly\n"
        "for other machines, and to keep it safe, copy the key: "
        "`ccgrep remote key export FILE --remote nas`\n"
    )
    run(laptop, "sync", "nas")
    done = desktop.run("remote", "add", "nas", url)
    assert done.returncode == 2
    assert done.stderr.startswith("ccgrep: the remote has another key (")
    assert done.stderr.endswith(
        "): run `ccgrep remote key export FILE` on a machine that uses it, and add the remote "
        "here with --key FILE\n"
    )
    assert run(laptop, "remote", "key", "export", key) == (
        f"wrote {key}\non the next machine, run `ccgrep remote add nas {url} --key FILE`\n"
    )
    assert run(desktop, "remote", "add", "nas", url, "--key", key, "--machine-name", "desktop") == (
        "joined the remote nas: this machine is 'desktop'\n"
        "now run `ccgrep sync nas`, or `ccgrep setup sync` to do it regularly\n"
    )
    assert run(desktop, "sync", "nas").startswith("nas: pulled 1 session (")
    assert run(desktop, "remote", "key", "import", key) == (
        "imported the key: run `ccgrep sync nas`\n"
    )


def test_remote_that_is_unreachable_is_named_and_the_others_follow(
    homes: tuple[Home, Home], tmp_path: Path
) -> None:
    laptop, _ = homes
    run(laptop, "remote", "add", "usb", str(tmp_path / "usb"))
    (tmp_path / "nas").rename(tmp_path / "unmounted")
    done = laptop.run("sync")
    problem = "there is no remote at the address: check that it is right, and that its disk is "
    assert (done.returncode, done.stderr) == (1, f"ccgrep: nas: {problem}mounted\n")
    assert "usb: pushed 1 session (" in done.stdout
    done = laptop.run("sync", "nas")
    assert (done.returncode, done.stderr) == (2, f"ccgrep: {problem}mounted\n")
    assert not (tmp_path / "nas").exists(), "nothing is written below the mount point"


def test_remote_is_removed_and_added_again(homes: tuple[Home, Home], tmp_path: Path) -> None:
    laptop, _ = homes
    run(laptop, "sync")
    url, key = run(laptop, "remote").split("\t")[1], str(tmp_path / "key")
    done = laptop.run("remote", "add", "again", url, "--key", key)
    assert (done.returncode, done.stderr) == (
        2,
        "ccgrep: the remote 'nas' has this address already\n",
    )
    removed = run(laptop, "remote", "remove", "nas")
    assert removed == "removed nas and its key here: the storage itself is unchanged\n"
    secret = (tmp_path / "key").read_text().split()[-1].encode()
    files = [path for path in laptop.store_dir.rglob("*") if path.is_file()]
    assert not any(secret in path.read_bytes() for path in files)
    run(laptop, "remote", "add", "nas", url, "--key", key)
    again = run(laptop, "sync", "--no-refresh")
    assert again == "nas: pulled 0 sessions\nnas: pushed 0 sessions\n"


def test_machine_that_is_gone_is_removed_and_its_sessions_stay(
    homes: tuple[Home, Home], tmp_path: Path
) -> None:
    laptop, desktop = homes
    forgotten = write_session(desktop, 3)
    sync_all(laptop, desktop)
    write_session(desktop, 4)
    run(desktop, "sync")
    shutil.rmtree(desktop.directory)
    run(laptop, "sync")
    run(laptop, "forget", forgotten.id)
    run(laptop, "sync")
    assert "not yet by desktop\n" in run(laptop, "remote", "status")
    done = laptop.run("remote", "remove-machine", "tablet")
    assert (done.returncode, done.stderr) == (
        2,
        "ccgrep: no other machine of 'nas' is named 'tablet': use one of desktop\n",
    )
    assert laptop.run("remote", "remove-machine", "laptop").returncode == 2
    removed = run(laptop, "remote", "remove-machine", "desktop")
    assert removed == "removed 'desktop': its sessions stay\n"
    assert "forgotten sessions: confirmed by laptop\n" in run(laptop, "remote", "status")
    run(laptop, "gc", "--remote", "nas", "--grace", "0")
    assert run(laptop, "fsck", "--remote", "nas", "--read-data").startswith("1 head, ")
    tablet = Home(tmp_path / "tablet")
    run(laptop, "remote", "key", "export", str(tmp_path / "key"))
    url = f"file://{tmp_path}/nas"
    run(tablet, "remote", "add", "nas", url, "--key", str(tmp_path / "key"))
    run(tablet, "sync")
    assert conversations(tablet) == conversations(laptop)
    first = {prompts[0] for *_, prompts in conversations(tablet)}
    assert first == {"prompt 1 0", "prompt 2 0", "prompt 4 0"}


def test_renamed_machine_and_removed_remote(homes: tuple[Home, Home]) -> None:
    laptop, desktop = homes
    sync_all(laptop, desktop)
    run(laptop, "remote", "rename-machine", "notebook")
    sync_all(laptop, desktop)
    assert "prompt 1 0" in run(desktop, "prompt", "--machine", "notebook")
    run(laptop, "remote", "rename-machine", "tablet", "--new-id")
    sync_all(laptop, desktop)
    assert "tablet: pushed" in run(desktop, "remote", "status")
    assert len(conversations(desktop)) == 2
    done = laptop.run("remote", "rename-machine", " ")
    assert (done.returncode, done.stderr) == (
        2,
        "ccgrep: invalid name '' for a machine: use letters and digits\n",
    )
    run(laptop, "remote", "remove", "nas")
    done = laptop.run("remote")
    assert (done.returncode, done.stdout, done.stderr) == (
        0,
        "",
        "ccgrep: there is no remote yet: run `ccgrep remote add NAME URL`\n",
    )
    done = laptop.run("sync")
    assert (done.returncode, done.stderr) == (
        2,
        "ccgrep: there is no remote: run `ccgrep remote add NAME URL`\n",
    )


def test_keys_move_with_a_passphrase_and_as_public_half(homes: tuple[Home, Home]) -> None:
    laptop, desktop = homes
    run(laptop, "push")
    key = str(laptop.directory / "locked")
    secret = {"CCGREP_PASSPHRASE": "correct horse"}
    done = laptop.run("remote", "key", "export", key, "--passphrase", env=secret)
    assert (done.returncode, done.stderr) == (0, "")
    assert "AGE-SECRET-KEY" not in Path(key).read_text()
    assert desktop.run("remote", "key", "import", key).returncode == 2
    if scale.IS_LONG:  # age takes a second or more to try a passphrase.
        wrong = desktop.run("remote", "key", "import", key, env={"CCGREP_PASSPHRASE": "wrong"})
        assert "the passphrase is wrong, or the key is damaged" in wrong.stderr
    done = desktop.run("remote", "key", "import", key, "--remote", "nas", env=secret)
    assert (done.returncode, done.stderr) == (0, "")
    public = run(laptop, "remote", "key", "export", "--public")
    assert "AGE-SECRET-KEY" not in public
    Path(key).write_text(public)
    assert desktop.run("remote", "key", "import", key).returncode == 0
    assert run(desktop, "sync").startswith("nas: pushed 1 session (")
    assert "desktop (this machine): pushed 0m ago, 1 session\n" in run(desktop, "remote", "status")
    done = desktop.run("pull")
    assert done.returncode == 2
    assert "only the public half" in done.stderr
    exported = run(desktop, "remote", "key", "export", str(desktop.directory / "half"))
    assert ", the public half: it can push and not read\n" in exported
    assert "AGE-SECRET-KEY" not in run(laptop, "remote", "key", "show")
    run(desktop, "remote", "remove", "nas")
    url = run(laptop, "remote", "list").split("\t")[1]
    joined = run(desktop, "remote", "add", "nas", url, "--key", key)
    assert "now run `ccgrep push nas`" in joined


def test_gc_and_fsck_of_a_remote(homes: tuple[Home, Home], tmp_path: Path) -> None:
    laptop, _ = homes
    for seed in range(3, 14):
        write_session(laptop, seed)
        run(laptop, "push")
    packs = list((tmp_path / "nas" / "packs").iterdir())
    assert "unreferenced ones are too young\n" in run(laptop, "gc", "--remote", "nas")
    run(laptop, "gc", "--remote", "nas", "--grace", "0")
    assert len(list((tmp_path / "nas" / "packs").iterdir())) < len(packs)
    checked = run(laptop, "fsck", "--remote", "nas", "--read-data")
    assert checked.startswith("1 head, ")
    shutil.rmtree(tmp_path / "nas" / "packs")
    done = laptop.run("fsck", "--remote", "nas")
    assert done.returncode == 1
    assert done.stdout.count("missing: ") > 0
    run(laptop, "push")
    run(laptop, "fsck", "--remote", "nas", "--read-data")


def test_recreated_store_keeps_remotes_and_sessions_of_other_machines(
    homes: tuple[Home, Home],
) -> None:
    laptop, desktop = homes
    sync_all(laptop, desktop)
    before = conversations(laptop)
    run(laptop, "index", "--recreate", "-q")
    assert conversations(laptop) == before
    assert "prompt 2 0" in run(laptop, "prompt", "--machine", "desktop")
    sync_all(laptop, desktop)
    assert conversations(desktop) == before


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["add", "x"], "invalid arguments 'add x': see `ccgrep remote --help`"),
        (["add", "..", "file:///tmp/x"], "invalid name '..' for a remote: use letters, digits"),
        (["add", "x", "ftp://host"], "unknown kind of address 'ftp://'"),
        (["add", "x", "file://tmp"], "'file://tmp' is not absolute"),
        (["add", "x", "s3:/bucket"], "'s3:/bucket' is not an address: use file:///DIR"),
        (["add", "x", "me@host:dir"], "'me@host:dir' is not an address: use file:///DIR"),
        (["add", "x", ""], "'' is not an address: use file:///DIR"),
        (["add", "x", "s3://b/c", "--endpoint", "host"], "'host' is not an endpoint"),
        (["add", "x", "/tmp/x", "--endpoint", "http://host"], "--endpoint is for buckets"),
        (["add", "x", "/tmp/x", "--ssh-command", "ssh"], "--ssh-command is for other hosts"),
        (["add", "x", "/tmp/x", "--machine-name", " "], "invalid name '' for a machine"),
        (["status", "x"], "there is no remote: run `ccgrep remote add NAME URL`"),
        (["key", "print"], "invalid arguments 'key print': use `key show`"),
    ],
)
def test_mistakes_are_named(home: Home, words: list[str], error: str) -> None:
    require_remote()
    done = home.run("remote", *words)
    assert done.returncode == 2
    assert error in done.stderr


def test_session_of_another_machine_is_resumed_here(
    homes: tuple[Home, Home], tmp_path: Path
) -> None:
    laptop, desktop = homes
    sync_all(laptop, desktop)
    id = json_id(laptop, "desktop")
    checkout = tmp_path / "checkout"
    checkout.mkdir()
    done = laptop.run("resume", id)
    assert (done.returncode, done.stdout) == (1, "")
    done = laptop.run("resume", id, "--in", str(checkout))
    assert (done.returncode, done.stdout) == (0, f"cd {checkout} && claude --resume {id}\n")
    (restored,) = laptop.projects.rglob(f"{id}.jsonl")
    (original,) = desktop.projects.rglob(f"{id}.jsonl")
    assert restored.read_bytes() == original.read_bytes()
    # Continued here, it is a session of this machine, and the other one follows.
    other = desktop.claude(2)
    other.diverge(1)
    other.turn("continued", "yes")
    with restored.open("ab") as file:
        file.write(b"".join(other.lines()))
    sync_all(laptop, desktop)
    assert conversations(laptop) == conversations(desktop)
    assert desktop.prompts(id)[-1] == "continued"
    assert len(conversations(desktop)) == 2


def test_copied_session_is_resumed_with_the_turns_of_the_other_machine(
    tmp_path: Path, homes: tuple[Home, Home]
) -> None:
    laptop, desktop = homes
    project = tmp_path / "project"
    project.mkdir()
    longer, shorter = (write_session(home, 3, cwd=str(project)) for home in homes)
    sync_all(laptop, desktop)
    longer.turn("continued on the laptop", "yes")
    longer.append()
    sync_all(laptop, desktop)
    os.utime(shorter.path, (1, 1))  # so that it is read again
    done = desktop.run("resume", longer.id)
    assert (done.returncode, done.stderr) == (
        1,
        f"ccgrep: cannot resume {longer.id}, its transcript here lacks turns of 'laptop': run "
        f"`ccgrep restore {longer.id} --force`, which replaces it and keeps a backup\n",
    )
    run(desktop, "restore", longer.id, "--force")
    assert shorter.path.read_bytes() == longer.path.read_bytes()
    assert run(desktop, "resume", longer.id) == f"cd {project} && claude --resume {longer.id}\n"
    checkout = tmp_path / "checkout"
    checkout.mkdir()
    shorter.write()
    desktop.run("resume", longer.id, "--in", str(checkout))
    restored = [path for path in desktop.projects.rglob(longer.path.name) if path != shorter.path]
    assert [path.read_bytes() for path in restored] == [longer.path.read_bytes()]


def test_codex_session_of_another_machine_is_restored_byte_for_byte(
    homes: tuple[Home, Home], tmp_path: Path
) -> None:
    laptop, desktop = homes
    file = desktop.codex(3)
    file.meta()
    file.turn("on the desktop", "yes")
    file.write()
    original = file.path.read_bytes()
    sync_all(laptop, desktop)
    file.path.unlink()  # as if the desktop were lost
    laptop.run("resume", file.id, "--in", str(tmp_path))
    (restored,) = laptop.codex_sessions.rglob(f"*{file.id}.jsonl")
    assert restored.read_bytes() == original
    assert restored.relative_to(laptop.codex_sessions) == file.path.relative_to(
        desktop.codex_sessions
    )


def test_rate_is_limited_on_average(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    clock = ManualClock()
    monkeypatch.setattr(storage, "time", clock)
    limited = storage.ThrottledStorage(storage.FolderStorage(str(tmp_path)), rate=1000)
    started = clock.monotonic()
    limited.put("packs/a", b"1" * 2000)
    limited.replace("heads/a", b"1" * 500, "")
    assert limited.get("packs/a") == b"1" * 2000
    assert clock.monotonic() - started == 4.5
    limited.delete("packs/a")
    limited.put("packs/b", b"")
    assert clock.monotonic() - started == 4.5


def test_progress_has_rate_and_time_left(homes: tuple[Home, Home]) -> None:
    laptop, desktop = homes
    assert progress_text("objects", 500, 2000, 5.0) == "500/2,000 objects  100/s  15 s left"
    text = progress_text("bytes", 5_000_000, 8_000_000, 10.0)
    assert text == "5.0 MB/8.0 MB  500.0 KB/s  6 s left"
    assert progress_text("objects", 0, 2000, 5.0) == "0/2,000 objects  0/s"
    pushed = ["sessions compared", "sessions planned", "objects"]
    pulled = ["bytes", "sessions merged", "turns indexed"]
    for home, expected in ((laptop, pushed), (desktop, [*pulled, *pushed])):
        calls: list[tuple[str, int, int]] = []
        home.index()
        sync(home.config, "nas", SyncOptions(), lambda *call: calls.append(call))  # noqa: B023
        assert list(dict.fromkeys(what for what, _, _ in calls)) == expected
        assert all(done <= total > 0 for _, done, total in calls)
    calls = []
    fsck_remote(laptop.config, "nas", reads_data=True, on_step=lambda *call: calls.append(call))
    assert {what for what, _, _ in calls} == {"packs read", "sessions checked"}


def test_restored_file_stays_below_the_clients_directory(homes: tuple[Home, Home]) -> None:
    laptop, desktop = homes
    sync_all(laptop, desktop)
    id = json_id(laptop, "desktop")
    assert str(laptop.projects) in run(laptop, "restore", id)
    (restored,) = laptop.projects.rglob(f"{id}.jsonl")
    assert restored.exists()
    assert move_below("/a/.claude/../x", "/a/.claude", "/b") is None
    assert move_below("/x/y", "/a/.claude", "/b") is None
    assert move_below("C:\\u\\.claude\\projects\\p\\s.jsonl", "C:\\u\\.claude", "/b/.claude") == (
        "/b/.claude/projects/p/s.jsonl"
    )

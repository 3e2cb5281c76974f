"""A remote that lies, fails, or belongs to somebody else: refused by name, and nothing is lost."""

import shutil
from pathlib import Path

import pytest
from msgspec.structs import replace

from ccgrep.errors import ClonedMachineError, RemoteError
from ccgrep.ops.remote import add_remote, rename_machine
from ccgrep.remote.keys import make_key
from ccgrep.remote.storage import ChangedFileError, FolderStorage
from tests.helpers.faulty_storage import race_before_head
from tests.helpers.fleet import PULL, PUSH, Conversation, Fleet, conversations
from tests.helpers.homes import Home
from tests.helpers.stored import write_session
from tests.helpers.tiny_vectors import MODEL, embed, keys_of, remote_keys, use_tiny_model


@pytest.fixture
def fleet(tmp_path: Path) -> Fleet:
    return Fleet(tmp_path)


def push_session(fleet: Fleet, number: int, seed: int) -> str:
    file = write_session(fleet[number], seed)
    fleet[number].index()
    fleet.sync(number, PUSH)
    return file.id


def test_wrong_key_is_refused_and_named(fleet: Fleet, tmp_path: Path) -> None:
    push_session(fleet, 0, 1)
    stranger = Home(tmp_path / "stranger")
    with pytest.raises(RemoteError, match=f"has another key \\({fleet.remote().key.id}\\)"):
        add_remote(stranger.config, "r", fleet.url, "stranger", key=make_key())
    with pytest.raises(RemoteError, match="is encrypted with the key"):
        add_remote(stranger.config, "r", fleet.url, "stranger", is_encrypted=False)


def test_folder_with_other_files_is_refused(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "photo.jpg").write_bytes(b"")
    with pytest.raises(RemoteError, match=r"such as 'photo\.jpg'"):
        add_remote(home.config, "r", f"file://{tmp_path}/folder", "m")


@pytest.mark.parametrize("damage", ["flip", "truncate", "swap", "plain"])
def test_tampered_pack_is_refused_by_name_and_the_rest_is_merged(fleet: Fleet, damage: str) -> None:
    push_session(fleet, 0, 1)
    (bad,) = fleet.files("packs")
    good = bad.read_bytes()
    push_session(fleet, 0, 2)
    (other,) = set(fleet.files("packs")) - {bad}
    bad.write_bytes(
        {
            "flip": good[:-1] + bytes([good[-1] ^ 1]),
            "truncate": good[:-10],
            "swap": other.read_bytes(),
            "plain": b"CCGPACK1",
        }[damage]
    )
    report = fleet.sync(1, PULL)
    assert any(f"packs/{bad.name}" in problem for problem in report.problems)
    assert [prompts[0] for *_, prompts in conversations(fleet[1])] == ["prompt 2 0"]
    checked = fleet[0].run("fsck", "--remote", "r", "--read-data")
    assert (checked.returncode, checked.stdout.count("\ndelete damaged files from")) == (1, 1)
    bad.unlink()  # as fsck advises
    fleet.sync(0, PUSH)
    fleet.sync(1, PULL)
    assert conversations(fleet[1]) == conversations(fleet[0])
    assert fleet[0].run("fsck", "--remote", "r", "--read-data").returncode == 0


def test_session_that_is_no_session_is_named_and_the_rest_is_merged(fleet: Fleet) -> None:
    """A machine with the key wrote it, so every hash is right."""
    push_session(fleet, 0, 1)
    push_session(fleet, 0, 2)
    remote, store = fleet.remote(), fleet[0].store
    head = remote.read_head(fleet.head_path(0).stem)
    bad, good = head.sessions
    turn = store.manifest(next(store.rows())).entries[0].turn
    bad = replace(bad, manifest=turn)
    remote.write_head(replace(head, sessions=(bad, good)), is_forced=True)
    (problem,) = fleet.sync(1, PULL).problems
    assert problem.startswith(f"session {bad.id} of 'machine0' is damaged in the remote: ")
    assert list(fleet[1].rows()) == [good.id]


def test_replayed_head_is_refused(fleet: Fleet) -> None:
    push_session(fleet, 0, 1)
    path = fleet.head_path(0)
    old = path.read_bytes()
    push_session(fleet, 0, 2)
    fleet.sync(1, PULL)
    path.write_bytes(old)
    (problem,) = fleet.sync(1, PULL).problems
    assert "the head of 'machine0' is older" in problem
    assert len(conversations(fleet[1])) == 2


def test_storage_that_was_rolled_back_gets_everything_again(fleet: Fleet) -> None:
    push_session(fleet, 0, 1)
    push_session(fleet, 1, 2)
    fleet.settle()
    shutil.copytree(fleet.folder, fleet.directory / "backup")
    push_session(fleet, 0, 3)
    push_session(fleet, 1, 4)
    fleet.settle()
    shutil.rmtree(fleet.folder)
    (fleet.directory / "backup").rename(fleet.folder)
    (problem,) = fleet.sync(0).problems
    assert "the head of 'machine1' is older" in problem
    fleet.sync(1)
    assert [fleet.sync(number).problems for number in range(2)] == [[], []]
    assert len(pulled(fleet)) == 4
    assert fleet[0].run("fsck", "--remote", "r", "--read-data").returncode == 0


def test_head_of_another_machine_is_refused(fleet: Fleet) -> None:
    push_session(fleet, 0, 1)
    push_session(fleet, 1, 2)
    shutil.copyfile(fleet.head_path(0), fleet.head_path(1))
    (problem,) = fleet.sync(0, PULL).problems
    assert f"heads/{fleet.head_path(1).name}" in problem


def test_renamed_tombstone_is_refused_and_a_deleted_one_is_written_again(fleet: Fleet) -> None:
    id = push_session(fleet, 0, 1)
    fleet.sync(1, PULL)
    fleet[0].run("forget", id)
    fleet.sync(0, PUSH)
    before = fleet.files("forgotten")
    first, second, *_ = before
    first.write_bytes(second.read_bytes())
    report = fleet.sync(1, PULL)
    assert any(f"forgotten/{first.name}" in problem for problem in report.problems)
    first.unlink()
    fleet.sync(0, PUSH)
    assert fleet.files("forgotten") == before
    assert fleet.sync(1, PULL).problems == []


def test_cloned_machine_is_noticed_and_can_get_a_new_id(fleet: Fleet) -> None:
    push_session(fleet, 0, 1)
    shutil.copytree(fleet[0].store_dir, fleet[1].store_dir, dirs_exist_ok=True)
    push_session(fleet, 0, 2)
    write_session(fleet[1], 3)
    fleet[1].index()
    with pytest.raises(ClonedMachineError, match="another machine pushes as 'machine0'"):
        fleet.sync(1, PUSH)
    rename_machine(fleet[1].config, "clone", is_new_id=True)
    fleet.settle()
    assert conversations(fleet[0]) == conversations(fleet[1])
    assert len(conversations(fleet[0])) == 3


def test_clone_that_pushes_at_the_same_moment_is_noticed(fleet: Fleet) -> None:
    """A precondition finds what the listing did not show yet."""
    push_session(fleet, 0, 1)
    clone_store(fleet)
    before = fleet.head_path(0).read_bytes()
    with (
        race_before_head(lambda: fleet.sync(1, PUSH)),
        pytest.raises(ClonedMachineError, match="another machine pushes as 'machine0'"),
    ):
        fleet.sync(0, PUSH)
    assert fleet.head_path(0).read_bytes() != before
    assert {prompts[0] for *_, prompts in pulled(fleet)} == {"prompt 1 0", "prompt 3 0"}


def clone_store(fleet: Fleet) -> None:
    """Give the second home the store of the first one. Both have something new to push."""
    shutil.copytree(fleet[0].store_dir, fleet[1].store_dir, dirs_exist_ok=True)
    for home, seed in zip(fleet.homes, (2, 3), strict=True):
        write_session(home, seed)
        home.index()


def pulled(fleet: Fleet) -> list[Conversation]:
    """Return what a new machine pulls."""
    fleet.add_home()
    fleet.sync(len(fleet.homes) - 1, PULL)
    return conversations(fleet.homes[-1])


def test_server_that_refuses_every_precondition_is_written_anyway(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_self: FolderStorage, path: str, _data: bytes, _tag: str) -> None:
        raise ChangedFileError(path)

    monkeypatch.setattr(FolderStorage, "replace", refuse)
    push_session(fleet, 0, 1)
    push_session(fleet, 0, 2)
    assert len(pulled(fleet)) == 2


def test_no_text_id_or_path_is_readable_in_the_remote(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_tiny_model(fleet, monkeypatch)
    checkout = fleet.directory / "checkout"
    (checkout / ".git").mkdir(parents=True)
    (checkout / ".git" / "config").write_text('[remote "origin"]\nurl = git@host.test:octo/depot\n')
    files = [write_session(fleet[0], seed, cwd=str(checkout)) for seed in range(1, 21)]
    fleet[0].index()
    embed(fleet[0])
    fleet.sync(0)
    assert (len(fleet.files("vectors")), remote_keys(fleet)) == (1, keys_of(fleet[0]))
    assert "host.test/octo/depot" in str(fleet.remote().read_head(fleet.head_path(0).stem))
    fleet[0].run("forget", files[0].id)
    fleet.sync(0)
    stored = b"".join(path.read_bytes() + path.name.encode() for path in fleet.files())
    known = [f"prompt {seed} {turn}" for seed in range(1, 21) for turn in range(3)]
    known += [file.id for file in files] + [str(file.path) for file in files]
    known += ["shop", "machine0", str(fleet[0].directory), MODEL, "octo", "depot", "host.test"]
    hashes = [row.manifest.hex() for row in fleet[0].store.rows()] + fleet[0].store.pack_names()
    assert len(known) > 100
    assert [text for text in known + hashes if text.encode() in stored] == []
    assert [text for text in hashes if bytes.fromhex(text) in stored] == []


def test_key_is_private_and_a_remote_without_encryption_works(tmp_path: Path) -> None:
    fleet = Fleet(tmp_path, 1)
    key = fleet[0].store_dir / "remotes" / "r" / "key"
    assert key.stat().st_mode & 0o777 == 0o600
    done = fleet[0].run("remote", "add", "plain", str(tmp_path / "plain"), "--no-encryption")
    assert "not encrypted" in done.stderr
    write_session(fleet[0], 1)
    assert fleet[0].run("sync", "plain").returncode == 0
    other = Home(tmp_path / "other")
    other.run("remote", "add", "plain", str(tmp_path / "plain"), "--no-encryption")
    assert other.run("pull").returncode == 0
    assert conversations(other) == conversations(fleet[0])

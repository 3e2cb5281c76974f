"""Vectors travel, so that a text is embedded on one machine only."""

import struct
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace

from ccgrep.hashing import sha256
from ccgrep.ops import sync as ops
from ccgrep.ops.embed import embed_pending
from ccgrep.semantic.vector_files import ROW, encode_segment
from ccgrep.store.machines import read_machines
from tests.helpers.extras import require_model
from tests.helpers.faulty_storage import KilledError
from tests.helpers.fleet import PULL, PUSH, Fleet
from tests.helpers.stored import write_session
from tests.helpers.tiny_vectors import (
    DIMENSIONS,
    MODEL,
    embed,
    embedded,
    keys_of,
    model_dir,
    read_vectors,
    remote_keys,
    use_tiny_model,
)


@pytest.fixture
def fleet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Fleet:
    return use_tiny_model(Fleet(tmp_path), monkeypatch)


def sync(fleet: Fleet, number: int) -> None:
    fleet[number].index()
    embed(fleet[number])
    fleet.sync(number)


def test_vectors_reach_the_other_machine_once(fleet: Fleet) -> None:
    write_session(fleet[0], 1)
    sync(fleet, 0)
    report = fleet.sync(1)
    assert report.pulled is not None
    assert report.pulled.vectors == 2 * len(keys_of(fleet[0])) > 0
    assert embedded(fleet[1]) == keys_of(fleet[1])
    assert read_vectors(fleet[1]) == read_vectors(fleet[0])
    write_session(fleet[1], 2)
    sync(fleet, 1)
    sync(fleet, 0)
    assert read_vectors(fleet[0]) == read_vectors(fleet[1])
    files = fleet.files("vectors")
    assert len(files) == 2
    fleet.settle()
    assert fleet.files("vectors") == files
    pushed = fleet.sync(0).pushed
    assert pushed is not None
    assert not pushed.is_changed


def test_vectors_are_pushed_when_only_they_are_new(fleet: Fleet) -> None:
    write_session(fleet[0], 1)
    fleet.settle()
    assert fleet.files("vectors") == []
    sync(fleet, 0)
    assert len(fleet.files("vectors")) == 1
    fleet.sync(1, PULL)
    assert embedded(fleet[1]) == keys_of(fleet[1])


def test_small_files_are_folded_and_collected(fleet: Fleet) -> None:
    for seed in range(1, 12):
        write_session(fleet[0], seed, turns=1)
        sync(fleet, 0)
    listed = fleet.remote().read_head(fleet.remote().head_name(head_id(fleet, 0))).vectors[MODEL]
    assert len(listed) < 10
    ops.gc_remote(fleet[0].config, "r", grace_days=0)
    assert len(fleet.files("vectors")) == len(listed)
    fleet.sync(1)
    assert read_vectors(fleet[1]) == read_vectors(fleet[0])


def head_id(fleet: Fleet, number: int) -> str:
    return read_machines(str(fleet[number].store_dir)).own


def test_vectors_of_forgotten_texts_leave_the_remote_and_every_machine(fleet: Fleet) -> None:
    forgotten = write_session(fleet[0], 1)
    write_session(fleet[0], 2)
    sync(fleet, 0)
    sync(fleet, 1)
    before = embedded(fleet[0])
    fleet[1].run("forget", forgotten.id)
    fleet.sync(1)
    held = remote_keys(fleet)
    assert held == keys_of(fleet[1]) < before
    for _ in range(2):
        sync(fleet, 0)
        sync(fleet, 1)
    assert remote_keys(fleet) == keys_of(fleet[0]) == embedded(fleet[0]) == embedded(fleet[1])


def test_forgotten_vectors_of_a_model_that_is_not_used_here_are_deleted(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    forgotten = write_session(fleet[0], 1)
    write_session(fleet[0], 2)
    sync(fleet, 0)
    monkeypatch.setattr(ops, "_find_models", lambda _: {})
    fleet.sync(1)
    assert not model_dir(fleet[1]).exists()
    fleet[1].run("forget", forgotten.id)
    fleet.sync(1)
    assert remote_keys(fleet) == set()
    fleet.sync(0)
    assert remote_keys(fleet) == keys_of(fleet[0]) == embedded(fleet[0])


def test_lost_files_are_written_again(fleet: Fleet) -> None:
    write_session(fleet[0], 1)
    sync(fleet, 0)
    (lost,) = fleet.files("vectors")
    lost.unlink()
    fleet.sync(1)
    assert embedded(fleet[1]) == set()
    fleet.sync(0, PUSH)
    fleet.sync(1)
    assert embedded(fleet[1]) == keys_of(fleet[1])


ROWS = np.array([(3, 0, 1), (5, 0, 1)], ROW)
SOUND = encode_segment(ROWS, np.ones((2, DIMENSIONS), "<f2"))
HOSTILE = {
    "empty": b"",
    "short": SOUND[:-1],
    "long": SOUND + b"\0",
    "no magic": b"ccgvec2\n" + SOUND[8:],
    "no vectors": encode_segment(ROWS[:0], np.ones((0, DIMENSIONS), "<f2")),
    "huge count": SOUND[:8] + struct.pack("<I", 2**32 - 1) + SOUND[12:],
    "other dimensions": encode_segment(ROWS, np.ones((2, DIMENSIONS + 1), "<f2")),
    "not a number": encode_segment(ROWS, np.full((2, DIMENSIONS), np.nan, "<f2")),
    "unsorted": encode_segment(ROWS[::-1], np.ones((2, DIMENSIONS), "<f2")),
    "negative key": encode_segment(np.array([(-1, 0, 1)], ROW), np.ones((1, DIMENSIONS), "<f2")),
    "backward span": encode_segment(np.array([(3, 2, 1)], ROW), np.ones((1, DIMENSIONS), "<f2")),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_file_is_refused_by_name(fleet: Fleet, kind: str) -> None:
    """It has the name of its content and is listed: a machine with the key wrote it."""
    write_session(fleet[0], 1)
    sync(fleet, 0)
    (path,) = fleet.files("vectors")
    path.unlink()
    remote = fleet.remote()
    name = remote.write_vectors(HOSTILE[kind])
    head = remote.read_head(remote.head_name(head_id(fleet, 0)))
    remote.write_head(replace(head, vectors={MODEL: (name,)}), is_forced=True)
    (problem,) = fleet.sync(1, PULL).problems
    assert f"vectors/{name}.age are refused" in problem
    assert embedded(fleet[1]) == set()
    assert fleet[1].prompts(next(iter(fleet[1].rows())))


@pytest.mark.parametrize("damage", ["flip", "truncate"])
def test_damaged_file_is_refused_by_name(fleet: Fleet, damage: str) -> None:
    write_session(fleet[0], 1)
    sync(fleet, 0)
    (path,) = fleet.files("vectors")
    good = path.read_bytes()
    path.write_bytes(good[:-1] + bytes([good[-1] ^ 1]) if damage == "flip" else good[:-5])
    (problem,) = fleet.sync(1, PULL).problems
    assert f"vectors/{path.name}" in problem
    assert fleet[0].run("fsck", "--remote", "r", "--read-data").returncode == 1
    path.write_bytes(good)
    assert fleet.sync(1, PULL).problems == []
    assert embedded(fleet[1]) == keys_of(fleet[1])
    assert fleet[0].run("fsck", "--remote", "r", "--read-data").returncode == 0


def test_vectors_that_came_before_their_texts_are_taken_later(fleet: Fleet) -> None:
    """The pack of a session is damaged at first, but its vectors are not."""
    write_session(fleet[0], 1)
    sync(fleet, 0)
    (path,) = fleet.files("packs")
    good = path.read_bytes()
    path.write_bytes(good[:-5])
    fleet.sync(1, PULL)
    path.write_bytes(good)
    fleet.sync(1, PULL)
    assert embedded(fleet[1]) == keys_of(fleet[1]) == keys_of(fleet[0]) != set()


def test_pull_that_was_killed_before_the_index_takes_vectors_later(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_session(fleet[0], 1)
    sync(fleet, 0)

    def end(_: object, **__: object) -> None:
        raise KilledError

    with monkeypatch.context() as patch, pytest.raises(KilledError):
        patch.setattr(ops, "sync_index", end)
        fleet.sync(1, PULL)
    fleet.sync(1, PULL)
    assert embedded(fleet[1]) == keys_of(fleet[1]) == keys_of(fleet[0]) != set()


def test_nothing_readable_is_in_a_file_of_vectors(fleet: Fleet) -> None:
    write_session(fleet[0], 1)
    sync(fleet, 0)
    (path,) = fleet.files("vectors")
    stored = path.read_bytes()
    assert [key for key in keys_of(fleet[0]) if struct.pack("<q", key) in stored] == []
    hashes = [sha256(part.read_bytes()).hexdigest() for part in model_dir(fleet[0]).glob("*.vec")]
    assert not any(hash[:32] in path.name for hash in hashes)
    assert MODEL.encode() not in b"".join(file.read_bytes() for file in fleet.files())


def test_second_machine_embeds_nothing_with_the_real_model(tmp_path: Path) -> None:
    require_model()
    fleet = Fleet(tmp_path)
    for home in fleet.homes:
        home.embed = "auto"
    write_session(fleet[0], 1)
    fleet[0].index()
    assert embed_pending(fleet[0].config).done == 6
    fleet.sync(0)
    report = fleet.sync(1)
    assert report.pulled is not None
    assert report.pulled.vectors == 6
    assert embed_pending(fleet[1].config)[1:3] == (0, 0)
    searched = "prompt about nothing in particular"
    answers = {fleet[n].run(searched, "--semantic").stdout for n in (0, 1)}
    assert len(answers) == 1

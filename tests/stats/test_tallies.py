"""Tallies are derived: only what is new is read, and what is damaged or gone is made anew."""

import os
from pathlib import Path

import pytest

from ccgrep.model import Turn
from ccgrep.ops import stats as ops
from ccgrep.ops.forget import forget
from ccgrep.stats import report, update
from ccgrep.stats.report import Overview
from ccgrep.store import tallies
from ccgrep.store.manifest import shard_of
from ccgrep.store.store import Store
from tests.helpers.homes import Home


@pytest.fixture
def shop(home: Home) -> Home:
    for seed in range(1, 6):
        file = home.claude(seed)
        for number in range(3):
            file.turn(f"prompt {seed} {number}", "answer", "git status", "clean")
        file.write()
    home.index()
    return home


def overview(home: Home, notes: list[str] | None = None) -> Overview:
    warn = (notes if notes is not None else []).append
    return ops.overview(ops.Asked(home.config, warn=warn))[0]


def tally_files(home: Home) -> list[Path]:
    return sorted((home.store_dir / "tallies").rglob("*.tally"))


@pytest.fixture
def read_turns(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """The ids of the turns that are read from now on."""
    seen: list[bytes] = []
    load = Store.load

    def spy(self: Store, id: bytes, kind: type) -> object:
        if kind is Turn:
            seen.append(id)
        return load(self, id, kind)  # type: ignore[arg-type]

    monkeypatch.setattr(Store, "load", spy)
    return seen


def test_only_new_turns_are_read(shop: Home, read_turns: list[bytes]) -> None:
    first = overview(shop)
    assert (len(read_turns), first.turns) == (15, 15)
    assert overview(shop) == first
    assert len(read_turns) == 15
    file = shop.claude(1)
    for number in range(3):
        file.turn(f"prompt 1 {number}", "answer", "git status", "clean")
    file.turn("one more", "answer", "ls", "x")
    file.write()
    shop.index()
    del read_turns[:]
    assert overview(shop).turns == 16
    assert len(read_turns) == 1


def test_a_session_that_only_changed_its_title_is_not_read(
    shop: Home, read_turns: list[bytes]
) -> None:
    overview(shop)
    file = shop.claude(2)
    for number in range(3):
        file.turn(f"prompt 2 {number}", "answer", "git status", "clean")
    file.meta("custom-title", customTitle="another name")
    file.write()
    shop.index()
    del read_turns[:]
    assert overview(shop).turns == 15
    assert read_turns == []


def test_there_is_one_file_a_shard_and_none_is_left_behind(shop: Home) -> None:
    overview(shop)
    wanted = {*tallies.shard_files(shop.store.snapshot()).values()}
    assert {path.name for path in tally_files(shop)} == {
        *wanted,
        tallies.shared_file(sorted(wanted)),
    }
    assert {path.stat().st_mode & 0o777 for path in tally_files(shop)} == {0o600}
    file = shop.claude(9)
    file.turn("new", "answer")
    file.write()
    shop.index()
    overview(shop)
    assert len(tally_files(shop)) == len(shop.store.snapshot().shards) + 1


def test_deleted_tallies_are_made_anew(shop: Home) -> None:
    first = overview(shop)
    for path in tally_files(shop):
        path.unlink()
        assert overview(shop) == first


def test_a_flipped_byte_anywhere_changes_no_answer(shop: Home) -> None:
    first = overview(shop)
    for path in tally_files(shop)[-2:]:
        good = path.read_bytes()
        for at in range(0, len(good), 37):
            path.write_bytes(good[:at] + bytes([good[at] ^ 0x41]) + good[at + 1 :])
            assert overview(shop) == first
        for data in (b"", good[:11], good[: len(good) // 2], os.urandom(len(good))):
            path.write_bytes(data)
            assert overview(shop) == first


def test_a_damaged_tally_is_mended_on_disk(shop: Home) -> None:
    overview(shop)
    path = tally_files(shop)[0]
    good = path.read_bytes()
    path.write_bytes(good[:-9] + bytes(9) if good[-9:] != bytes(9) else b"x" * len(good))
    overview(shop)
    assert path.read_bytes() == good


def test_a_store_that_another_writes_to_is_tallied_without_keeping(shop: Home) -> None:
    notes: list[str] = []
    with shop.store.lock(1.0):
        assert overview(shop, notes).turns == 15
    assert tally_files(shop) == []
    assert ["not kept" in note for note in notes] == [True]
    assert overview(shop).turns == 15
    assert tally_files(shop)


def test_what_is_forgotten_leaves_the_tallies_at_once(home: Home) -> None:
    secret = home.claude(1, cwd="/src/topsecret")
    secret.turn("a", "b", "nuclear launch", "x")
    secret.write()
    other = home.claude(2)
    other.turn("c", "d")
    other.write()
    home.index()
    overview(home)
    assert any(b"topsecret" in path.read_bytes() for path in tally_files(home))
    forget(home.config, [secret.id])
    for path in tally_files(home):
        assert b"topsecret" not in path.read_bytes()
        assert b"nuclear" not in path.read_bytes()
    assert overview(home).turns == 1


def test_what_is_forgotten_while_it_is_tallied_does_not_come_back(
    shop: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = (shop.claude(seed, cwd="/src/topsecret") for seed in range(9, 99))
    secret = next(file for file in made if shard_of(file.id) < min(map(shard_of, shop.rows())))
    secret.turn("a", "b")
    secret.write()
    shop.index()
    monkeypatch.setattr(update, "_PUBLISH_EVERY_S", 1000.0)
    store, told = shop.store, 0

    def on_progress(progress: update.Progress) -> None:
        nonlocal told
        told += 1
        if progress.done == progress.shards - 1:
            forget(shop.config, [secret.id])
            monkeypatch.setattr(tallies, "drop_stale", lambda store: None)

    update.open_tallies(store, on_progress)
    assert told
    assert tally_files(shop)
    assert not any(b"topsecret" in path.read_bytes() for path in tally_files(shop))


def test_tallies_of_other_rules_are_replaced(shop: Home) -> None:
    other = shop.store_dir / "tallies" / "v1-00000000"
    overview(shop)
    ours = tally_files(shop)[0].parent
    ours.rename(other)
    overview(shop)
    assert [path.name for path in (shop.store_dir / "tallies").iterdir()] == [ours.name]


def test_the_order_of_arrival_makes_no_difference(tmp_path: Path) -> None:
    found = []
    for name, is_stepwise in (("steps", True), ("once", False)):
        home = Home(tmp_path / name)
        first = home.claude(1)
        first.turn("a", "b", "ls", "x")
        first.write()
        forks = [first.fork(first.path.parent, 4, seed) for seed in (50, 51, 52)]
        for number, file in enumerate(forks):
            file.turn(f"fork {number}", "c", "git push", "y")
            file.write()
            if is_stepwise:
                home.index()
                overview(home)
        home.index()
        found.append(overview(home))
    assert found[0] == found[1]
    assert (found[0].turns, found[0].copies, found[0].calls) == (4, 3, 4)


def test_an_empty_store_has_nothing_to_tell(home: Home) -> None:
    home.index()
    assert (overview(home).turns, overview(home).tools, overview(home).first) == (0, (), None)


def test_tools_by_project_are_the_same_when_there_are_many_of_both(
    shop: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = shop.claude(8, cwd="/home/sam/src/blog", slug="-blog")
    other.turn("a", "b", "ls", "x")
    other.result(other.call("Read", {}), "no", is_error=True)
    other.write()
    shop.index()
    asked = ops.Asked(shop.config)
    few = ops.tools(asked)[0]
    monkeypatch.setattr(report, "_MAX_PAIRS", 1)
    assert ops.tools(asked)[0] == few
    assert few[0].projects == (("/home/sam/src/shop", 15, 0), ("/home/sam/src/blog", 1, 0))
    assert few[1].projects == (("/home/sam/src/blog", 1, 1),)

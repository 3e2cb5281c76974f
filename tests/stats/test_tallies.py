"""Tallies are derived: updates read only new turns, and damaged or missing files are rebuilt."""

import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from ccgrep.model import Turn
from ccgrep.ops import stats as ops
from ccgrep.ops.gc import forget
from ccgrep.stats import tallies, tool_projects
from ccgrep.stats.report import Overview, Report
from ccgrep.store import tally_files
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


def overview(home: Home, warn: Callable[[str], None] = lambda _: None) -> Overview:
    return ops.make_report(ops.StatsRequest(home.config, warn=warn), Report.overview)[0]


def files_on_disk(home: Home) -> list[Path]:
    return sorted((home.store_dir / "tallies").rglob("*.tally"))


@pytest.fixture
def read_turns(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """Collect the ids of the turns that are read."""
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


def test_no_turn_of_a_session_with_a_new_title_is_read(shop: Home, read_turns: list[bytes]) -> None:
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


def test_each_shard_has_one_file_and_stale_ones_are_deleted(shop: Home) -> None:
    overview(shop)
    current = {*tally_files.shard_files(shop.store.snapshot()).values()}
    assert {path.name for path in files_on_disk(shop)} == {
        *current,
        tally_files.shared_file(sorted(current)),
    }
    assert {path.stat().st_mode & 0o777 for path in files_on_disk(shop)} == {0o600}
    file = shop.claude(9)
    file.turn("new", "answer")
    file.write()
    shop.index()
    overview(shop)
    assert len(files_on_disk(shop)) == len(shop.store.snapshot().shards) + 1


def test_tallies_are_the_same_bytes_in_every_process(shop: Home) -> None:
    contents = []
    for seed in ("1", "2"):
        shutil.rmtree(shop.store_dir / "tallies", ignore_errors=True)
        done = shop.run("stats", "--no-refresh", env={"PYTHONHASHSEED": seed})
        assert done.returncode == 0, done.stderr
        contents.append({path.name: path.read_bytes() for path in files_on_disk(shop)})
    assert contents[0] == contents[1] != {}


def test_deleted_tallies_are_rebuilt(shop: Home) -> None:
    first = overview(shop)
    for path in files_on_disk(shop):
        path.unlink()
        assert overview(shop) == first


def test_flipped_byte_changes_no_answer(shop: Home) -> None:
    first = overview(shop)
    for path in files_on_disk(shop)[-2:]:
        good = path.read_bytes()
        for at in range(0, len(good), 37):
            path.write_bytes(good[:at] + bytes([good[at] ^ 0x41]) + good[at + 1 :])
            assert overview(shop) == first
        for data in (b"", good[:11], good[: len(good) // 2], random.Random(1).randbytes(len(good))):
            path.write_bytes(data)
            assert overview(shop) == first


def test_damaged_tally_is_repaired_on_disk(shop: Home) -> None:
    overview(shop)
    path = files_on_disk(shop)[0]
    good = path.read_bytes()
    path.write_bytes(good[:-9] + bytes(9) if good[-9:] != bytes(9) else b"x" * len(good))
    overview(shop)
    assert path.read_bytes() == good


def test_tallies_are_not_saved_while_another_process_writes(shop: Home) -> None:
    warnings: list[str] = []
    with shop.store.lock(1.0):
        assert overview(shop, warnings.append).turns == 15
    assert files_on_disk(shop) == []
    assert [warning.partition(":")[0] for warning in warnings] == ["the new tallies are not saved"]
    assert overview(shop).turns == 15
    assert files_on_disk(shop)


def test_forgotten_session_leaves_the_tallies_at_once(home: Home) -> None:
    secret = home.claude(1, cwd="/src/topsecret")
    secret.turn("a", "b", "nuclear launch", "x")
    secret.write()
    other = home.claude(2)
    other.turn("c", "d")
    other.write()
    home.index()
    overview(home)
    assert any(b"topsecret" in path.read_bytes() for path in files_on_disk(home))
    forget(home.config, [secret.id])
    for path in files_on_disk(home):
        assert b"topsecret" not in path.read_bytes()
        assert b"nuclear" not in path.read_bytes()
    assert overview(home).turns == 1


def test_session_forgotten_during_the_tally_does_not_come_back(
    shop: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    candidates = (shop.claude(seed, cwd="/src/topsecret") for seed in range(9, 99))
    secret = next(
        file for file in candidates if shard_of(file.id) < min(map(shard_of, shop.rows()))
    )
    secret.turn("a", "b")
    secret.write()
    shop.index()
    monkeypatch.setattr(tallies, "_PUBLISH_EVERY_S", 1000.0)
    store, reports = shop.store, 0

    def on_progress(progress: tallies.Progress) -> None:
        nonlocal reports
        reports += 1
        if progress.done == progress.shards - 1:
            forget(shop.config, [secret.id])
            monkeypatch.setattr(tally_files, "drop_stale", lambda store: None)

    tallies.open_tallies(store, on_progress)
    assert reports
    assert files_on_disk(shop)
    assert not any(b"topsecret" in path.read_bytes() for path in files_on_disk(shop))


def test_tallies_of_other_safety_rules_are_replaced(shop: Home) -> None:
    other = shop.store_dir / "tallies" / "v1-00000000"
    overview(shop)
    ours = files_on_disk(shop)[0].parent
    ours.rename(other)
    overview(shop)
    assert [path.name for path in (shop.store_dir / "tallies").iterdir()] == [ours.name]


def test_order_of_ingestion_makes_no_difference(tmp_path: Path) -> None:
    overviews = []
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
        overviews.append(overview(home))
    first_overview, second_overview = overviews
    assert first_overview == second_overview
    assert (first_overview.turns, first_overview.copies, first_overview.calls) == (4, 3, 4)


def test_overview_of_an_empty_store_is_zero(home: Home) -> None:
    home.index()
    assert (overview(home).turns, overview(home).tools, overview(home).first) == (0, (), None)


def test_dense_and_sparse_sums_of_tools_by_project_agree(
    shop: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = shop.claude(8, cwd="/home/sam/src/blog", slug="-blog")
    other.turn("a", "b", "ls", "x")
    other.result(other.call("Read", {}), "no", is_error=True)
    other.write()
    shop.index()
    request = ops.StatsRequest(shop.config)
    dense = ops.make_report(request, Report.tools)[0]
    monkeypatch.setattr(tool_projects, "_MAX_DENSE_PAIRS", 1)
    assert ops.make_report(request, Report.tools)[0] == dense
    assert dense[0].projects == (("/home/sam/src/shop", 15, 0), ("/home/sam/src/blog", 1, 0))
    assert dense[1].projects == (("/home/sam/src/blog", 1, 1),)

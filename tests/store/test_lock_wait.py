"""A process that waits for the writer lock says so once, after 0.3 seconds."""

import pytest

from ccgrep.errors import LockedError
from ccgrep.refresh import update
from ccgrep.refresh.background import Feedback
from ccgrep.store import lock
from ccgrep.store.lifecycle import create_store
from ccgrep.store.lock import WriterLock, lock_vectors
from ccgrep.store.store import Store
from tests.helpers.clock import ManualClock
from tests.helpers.homes import Home, assert_same_as_fresh
from tests.helpers.stored import write_session


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> ManualClock:
    clock = ManualClock()
    monkeypatch.setattr(lock, "time", clock)
    return clock


@pytest.mark.parametrize(("wait_s", "expected"), [(0.2, []), (10.0, [0.3])])
def test_long_wait_is_announced_once(
    home: Home, clock: ManualClock, wait_s: float, expected: list[float]
) -> None:
    home.index()
    announced: list[tuple[float, str]] = []
    with home.store.lock(0), pytest.raises(LockedError):
        home.store.lock(wait_s, lambda text: announced.append((clock.now, text))).__enter__()
    assert [round(now, 1) for now, _ in announced] == expected
    assert all(text.startswith("waiting for another ccgrep (process ") for _, text in announced)
    assert clock.now >= wait_s


def test_wait_for_embedding_is_announced(home: Home, clock: ManualClock) -> None:
    directory = home.store_dir / "vectors" / "model"
    directory.mkdir(parents=True)
    announced: list[str] = []
    with (
        WriterLock(str(directory / "lock"), 0),
        pytest.raises(LockedError),
        lock_vectors(str(home.store_dir), 1.0, announced.append),
    ):
        pass
    assert len(announced) == 1


def test_first_build_waits_for_a_process_that_builds_the_same_store(
    home: Home, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_session(home)
    other = WriterLock(str(home.store_dir / "lock"), 0)

    def create_after_another(directory: str) -> Store:
        store = create_store(directory)
        other.__enter__()
        return store

    def sleep(seconds: float) -> None:
        clock.now += seconds
        if clock.now > 100 and not released:
            released.append(True)
            other.__exit__()

    released: list[bool] = []
    monkeypatch.setattr(update, "create_store", create_after_another)
    monkeypatch.setattr(clock, "sleep", sleep)
    warnings: list[str] = []
    update.refresh(home.config, Feedback(warn=warnings.append))
    assert [text[:27] for text in warnings] == ["waiting for another ccgrep "]
    assert released
    assert_same_as_fresh(home)

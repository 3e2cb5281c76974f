"""A process that waits for the writer lock says so once, after 0.3 seconds."""

import pytest

from ccgrep.errors import LockedError
from ccgrep.store import lock
from ccgrep.store.lock import WriterLock, lock_vectors
from tests.helpers.clock import ManualClock
from tests.helpers.homes import Home


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

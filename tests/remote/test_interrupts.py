"""Ctrl-C ends a sync at once, however long a transfer takes. The next sync continues."""

import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ccgrep.ops.sync import sync
from ccgrep.remote import local
from ccgrep.remote.object_storage import ObjectStorage
from ccgrep.remote.storage import Storage
from tests.helpers import s3_servers
from tests.helpers.faulty_storage import FaultyStorage
from tests.helpers.fleet import PUSH, Fleet, conversations
from tests.helpers.stored import write_session

_LIMIT_S = 20.0
"""Ends a transfer that nobody interrupts. A test that waits so long has failed."""


class SlowStorage(FaultyStorage):
    """A storage whose first pack is on its way until `finish` is called."""

    def __init__(self, storage: Storage) -> None:
        super().__init__(storage, lambda: None)
        self.is_started = threading.Event()
        self.is_released = threading.Event()
        self.is_written = threading.Event()

    def put(self, path: str, data: bytes) -> None:
        if path.startswith("packs/") and not self.is_released.is_set():
            self.is_started.set()
            self.is_released.wait(_LIMIT_S)
            super().put(path, data)
            self.is_written.set()
        else:
            super().put(path, data)


def test_push_does_not_wait_for_its_uploads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fleet = Fleet(tmp_path)
    write_session(fleet[0], 1)
    fleet[0].index()
    storages: list[SlowStorage] = []

    def slow_down(storage: Storage) -> Storage:
        storages.append(SlowStorage(storage))
        return storages[-1]

    def interrupt(what: str, _done: int, _total: int) -> None:
        if what == "objects":
            assert storages[0].is_started.wait(_LIMIT_S)
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(local, "wrap_storage", slow_down)
        with pytest.raises(KeyboardInterrupt):
            sync(fleet[0].config, "r", PUSH, interrupt)
    (storage,) = storages
    assert not storage.is_written.is_set()
    storage.is_released.set()
    assert storage.is_written.wait(_LIMIT_S)
    fleet.settle()
    assert conversations(fleet[1]) == conversations(fleet[0]) != []


@contextmanager
def silent_server(has_given_up: threading.Event) -> Iterator[str]:
    """Run a server that interrupts this thread when a client connects, and never answers."""
    is_over = threading.Event()
    main = threading.get_ident()

    def serve() -> None:
        connection, _ = listener.accept()
        listener.close()  # A second attempt is refused.
        signal.pthread_kill(main, signal.SIGINT)
        if not is_over.wait(_LIMIT_S):
            has_given_up.set()
        connection.close()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            is_over.set()
            thread.join()


def test_request_to_a_silent_server_is_interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in s3_servers.CREDENTIALS.items():
        monkeypatch.setenv(name, value)
    assert threading.current_thread() is threading.main_thread()
    has_given_up = threading.Event()
    with silent_server(has_given_up) as endpoint:
        storage = ObjectStorage(s3_servers.url("cc"), endpoint, {})
        with pytest.raises(KeyboardInterrupt):
            storage.get("FORMAT")
        assert not has_given_up.is_set()

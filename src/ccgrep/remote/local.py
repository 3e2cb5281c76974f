"""What this machine knows about a remote: `remotes/<name>/` in the store.

docs/remotes.md lists the files. `config`, `key` and `state` are durable; the others are hints.
"""

import os
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TypeVar

import msgspec
from msgspec import Struct

from ccgrep.errors import RemoteError, UsageError
from ccgrep.lazy_re import compile_pattern
from ccgrep.model import ObjectId
from ccgrep.remote.head import SharedSession
from ccgrep.remote.keys import NO_KEY, Key, format_key, parse_key
from ccgrep.remote.remote import Listing, Remote
from ccgrep.remote.storage import Storage, ThrottledStorage, open_storage
from ccgrep.store import fsio
from ccgrep.store.access import check_usable
from ccgrep.store.checksummed_file import add_checksum, read_checksummed
from ccgrep.store.lock import WriterLock
from ccgrep.store.machines import read_machines

T = TypeVar("T")

_ID_BYTES = 32
_NAME = r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}"
_RESERVED = ("machines",)
_REPAIRS = {
    "config": "`ccgrep remote add {} URL`, which keeps the key",
    "state": "`ccgrep remote rename-machine NAME --new-id`",
}
_TEAM_SCHEMES = ("postgres://", "postgresql://")

wrap_storage: Callable[[Storage], Storage] | None = None
"""Wraps each storage that is opened, so that tests can inject faults."""


class RemoteConfig(Struct, frozen=True, omit_defaults=True):
    """Where a remote is. `projects` are those that are pushed to a team's server."""

    url: str
    endpoint: str = ""
    ssh_command: str = ""
    is_encrypted: bool = True
    projects: tuple[str, ...] = ()


class SeenHead(Struct, frozen=True):
    """A head of another machine, as it was read last."""

    tag: str
    machine: str
    sequence: int
    nonce: str
    created: int
    is_merged: bool
    sessions: int
    applied: tuple[str, ...] = ()
    vectors: dict[str, tuple[str, ...]] = {}


class LastPush(Struct, frozen=True):
    """The last head of this machine that the remote confirmed.

    `segments` are the local files of vectors that it covers with `vectors`.
    """

    name: str
    tag: str
    snapshot: str
    packs: tuple[str, ...]
    created: int
    applied: tuple[str, ...] = ()
    vectors: dict[str, tuple[str, ...]] = {}
    segments: tuple[str, ...] = ()


class State(Struct, omit_defaults=True):
    """What this machine read and wrote last.

    `writes` has sequence and nonce of the last head that the remote confirmed, and of those that
    this machine was about to write since.
    `applied` and `purged` are tombstones: those whose sessions are deleted here, and those whose
    objects are also deleted from the packs of the remote. `checked` are the tags of FORMAT and of
    the file in `keys/` that were checked.
    """

    writes: list[tuple[int, str]] = []
    heads: dict[str, SeenHead] = {}
    applied: list[str] = []
    purged: list[str] = []
    pushed: LastPush | None = None
    checked: list[str] = []


class SharedRow(Struct, frozen=True, array_like=True):
    """What a push said about a session, and a hash of the row that it was made from."""

    row: bytes
    session: SharedSession


class PackIds:
    """The sorted object ids of a pack."""

    def __init__(self, data: bytes) -> None:
        self.data = data

    def __len__(self) -> int:
        return len(self.data) // _ID_BYTES

    def __iter__(self) -> Iterator[ObjectId]:
        return map(self.__getitem__, range(len(self)))

    def __getitem__(self, position: int) -> ObjectId:
        return ObjectId(self.data[position * _ID_BYTES : (position + 1) * _ID_BYTES])

    def __contains__(self, id: ObjectId) -> bool:
        position = bisect_left(range(len(self)), id, key=self.__getitem__)
        return position < len(self) and self[position] == id


class LocalRemote:
    """The directory of a remote in the store."""

    def __init__(self, store_dir: str, name: str) -> None:
        self.name = name
        self.store_dir = store_dir
        self.directory = os.path.join(remotes_dir(store_dir), name)
        self.incoming = self.path("incoming")
        self.outgoing = self.path("outgoing")
        self.tmp_dir = os.path.join(store_dir, "tmp")

    def path(self, *names: str) -> str:
        return os.path.join(self.directory, *names)

    def lock(self, wait_s: float) -> WriterLock:
        """Return a lock that one process at a time holds to sync with this remote."""
        return WriterLock(self.path("lock"), wait_s)

    # Durable files.

    def create(self, config: RemoteConfig, key: Key) -> None:
        """Store address and key. The config is last: a directory without one is unfinished."""
        fsio.make_dir(self.directory)
        fsio.make_dir(self.tmp_dir)
        self.write_key(key)
        self._write("config", msgspec.json.encode(config))

    def remove_access(self) -> None:
        """Delete address and key. With the same key, `create` continues with what is left."""
        for name in ("config", "key"):
            fsio.remove(self.path(name))

    def create_team(self, config: RemoteConfig, password: str) -> None:
        """Store the address of a team's server, and its password in a file of its own."""
        fsio.make_dir(self.directory)
        fsio.make_dir(self.tmp_dir)
        self._write("key", b"")
        self._write("password", password.encode())
        self._write("config", msgspec.json.encode(config))

    def read_password(self) -> str:
        try:
            with open(self.path("password"), encoding="utf-8") as file:
                return file.read()
        except FileNotFoundError:
            return ""

    def write_pushed(self, data: bytes) -> None:
        """Store what was pushed to a team's server (a hint)."""
        self._write("pushed", data, is_hint=True)

    @property
    def is_team(self) -> bool:
        return is_team_url(self.read_config().url)

    def read_config(self) -> RemoteConfig:
        return self._decode("config", RemoteConfig)

    def write_key(self, key: Key) -> None:
        self._write("key", format_key(key).encode() if key.is_encrypted else b"")

    def read_key(self) -> Key:
        """Return the key. Raise FileNotFoundError if there is none."""
        with open(self.path("key"), encoding="utf-8", errors="replace") as file:
            text = file.read()
        return parse_key(text) if text else NO_KEY

    def open(self, variables: Mapping[str, str] | None = None) -> Remote:
        """Open the remote, and check that it is one of this key."""
        remote = self.connect(variables)
        remote.check()
        return remote

    def connect(
        self, variables: Mapping[str, str] | None = None, limit_rate: int | None = None
    ) -> Remote:
        """Open the remote without a request.

        `variables` of the environment tell where credentials are. `limit_rate` is the number of
        bytes to transfer per second, on average.
        """
        storage = open_wrapped(self.read_config(), variables)
        if limit_rate is not None:
            storage = ThrottledStorage(storage, limit_rate)
        return Remote(storage, self.read_key())

    def check(self, remote: Remote, listing: Listing) -> None:
        """Check that a remote is one of this key, unless a check has read the same files."""
        state, checked = self.read_state(), remote.identify(listing)
        if not checked or state.checked != checked:
            remote.check()
            state.checked = checked
            self.write_state(state)

    def read_state(self) -> State:
        try:
            return self._decode("state", State)
        except FileNotFoundError:
            return State()

    def write_state(self, state: State) -> None:
        self._write("state", msgspec.json.encode(state))

    # Hints.

    def read_shared(self) -> dict[str, SharedRow]:
        """Return what the last push said about each session, by its id here."""
        data = read_checksummed(self.path("shared"))
        return msgspec.msgpack.decode(data, type=dict[str, SharedRow]) if data else {}

    def write_shared(self, shared: dict[str, SharedRow]) -> None:
        self._write("shared", add_checksum(msgspec.msgpack.encode(shared)), is_hint=True)

    def read_pack_ids(self) -> dict[str, PackIds]:
        """Return the object ids of each pack that this machine has written or read."""
        return {name: PackIds(data) for name, data in self._read_hints("packs").items()}

    def write_pack_ids(self, name: str, ids: Iterable[ObjectId]) -> None:
        fsio.make_dir(self.path("packs"))
        self._write(os.path.join("packs", name), add_checksum(b"".join(sorted(ids))), is_hint=True)

    def forget_packs(self, names: Iterable[str]) -> None:
        for name in names:
            fsio.remove(self.path("packs", name))

    def read_vector_keys(self) -> dict[str, bytes]:
        """Return the keys in each file of vectors that this machine has written or read."""
        return self._read_hints("vectors")

    def list_vectors(self) -> set[str]:
        """Return the names of these files, without reading their keys."""
        path = self.path("vectors")
        return set(os.listdir(path)) if os.path.isdir(path) else set()

    def write_vector_keys(self, name: str, keys: bytes) -> None:
        fsio.make_dir(self.path("vectors"))
        self._write(os.path.join("vectors", name), add_checksum(keys), is_hint=True)

    def forget_vectors(self, names: Iterable[str]) -> None:
        for name in names:
            fsio.remove(self.path("vectors", name))

    def _read_hints(self, folder: str) -> dict[str, bytes]:
        """Return the contents of the undamaged files of a folder."""
        try:
            names = os.listdir(self.path(folder))
        except FileNotFoundError:
            return {}
        found = {name: read_checksummed(self.path(folder, name)) for name in names}
        return {name: data for name, data in found.items() if data}

    def _decode(self, name: str, kind: type[T]) -> T:
        path = self.path(name)
        with open(path, "rb") as file:
            data = file.read()
        try:
            return msgspec.json.decode(data, type=kind)
        except msgspec.MsgspecError as error:
            raise RemoteError(
                f"{path} is damaged: delete it, then run {_REPAIRS[name].format(self.name)}"
            ) from error

    def _write(self, name: str, data: bytes, is_hint: bool = False) -> None:
        fsio.publish(self.tmp_dir, self.path(name), data, is_hint)


def is_team_url(url: str) -> bool:
    """Return whether a remote is a team's server, which is searched and never pulled."""
    return url.startswith(_TEAM_SCHEMES)


def open_wrapped(config: RemoteConfig, variables: Mapping[str, str] | None = None) -> Storage:
    if is_team_url(config.url):
        raise UsageError("a team's server has neither packs nor keys: see `ccgrep team --help`")
    storage = open_storage(config.url, config.endpoint, config.ssh_command, variables)
    return wrap_storage(storage) if wrap_storage is not None else storage


def remotes_dir(store_dir: str) -> str:
    return os.path.join(store_dir, "remotes")


def list_remotes(store_dir: str) -> list[LocalRemote]:
    """Return the configured remotes, by name."""
    check_usable(store_dir)
    try:
        names = sorted(os.listdir(remotes_dir(store_dir)))
    except FileNotFoundError:
        return []
    remotes = (LocalRemote(store_dir, name) for name in names)
    return [remote for remote in remotes if os.path.exists(remote.path("config"))]


def list_names(store_dir: str, kind: str) -> list[str]:
    """Return the names of all machines, or of all remotes."""
    if kind == "remote":
        return [remote.name for remote in list_remotes(store_dir)]
    return sorted(set(read_machines(store_dir).names.values()))


def find_remote(store_dir: str, name: str | None) -> LocalRemote:
    """Return the remote of that name, or the only one if no name is given."""
    remotes = list_remotes(store_dir)
    names = ", ".join(remote.name for remote in remotes)
    if not remotes:
        raise UsageError("there is no remote: run `ccgrep remote add NAME URL`")
    if name is None:
        if len(remotes) > 1:
            raise UsageError(f"there are several remotes: name one of {names}")
        return remotes[0]
    for remote in remotes:
        if remote.name == name:
            return remote
    raise UsageError(f"there is no remote '{name}': use one of {names}")


def check_name(name: str) -> None:
    if not compile_pattern(_NAME).fullmatch(name) or name in _RESERVED:
        raise UsageError(
            f"invalid name '{name}' for a remote: use letters, digits, dots and dashes"
        )

"""Several homes that share a remote, and what their stores hold."""

from pathlib import Path

from ccgrep.model import Turn
from ccgrep.ops.remote import add_remote, export_key, read_exported_key
from ccgrep.ops.sync import SyncOptions, SyncReport, sync
from ccgrep.remote.local import find_remote
from ccgrep.remote.remote import Remote
from ccgrep.store.machines import read_machines
from ccgrep.store.objects import unpack_frame
from ccgrep.store.pack import Pack
from tests.helpers.extras import require_remote
from tests.helpers.homes import Home

PULL = SyncOptions(is_push=False)
PUSH = SyncOptions(is_pull=False)
BOTH = SyncOptions()

Conversation = tuple[str, bool, tuple[str, ...]]
"""The base id of a session, whether it is superseded, and its prompts."""


class Fleet:
    """Homes that share one remote. The first one makes its key."""

    def __init__(self, directory: Path, count: int = 2, url: str = "", endpoint: str = "") -> None:
        require_remote()
        self.directory = directory
        self.folder = directory / "remote"
        self.url = url or f"file://{self.folder}"
        self.endpoint = endpoint
        self.homes: list[Home] = []
        for _ in range(count):
            self.add_home()

    def __getitem__(self, number: int) -> Home:
        return self.homes[number]

    def add_home(self, is_public: bool = False) -> Home:
        number = len(self.homes)
        home = Home(self.directory / f"home{number}")
        key = None
        if self.homes:
            text = export_key(self.homes[0].config, "r", is_public)
            key = read_exported_key(text, lambda: "")
        add_remote(home.config, "r", self.url, f"machine{number}", self.endpoint, key)
        self.homes.append(home)
        return home

    def sync(self, number: int, options: SyncOptions = BOTH) -> SyncReport:
        (report,) = sync(self.homes[number].config, "r", options)
        return report

    def settle(self) -> None:
        """Sync every home until nothing changes any more."""
        for _ in range(3):
            for number in range(len(self.homes)):
                self.homes[number].index()
                self.sync(number)

    def remote(self, number: int = 0) -> Remote:
        return find_remote(str(self.homes[number].store_dir), "r").open()

    def head_path(self, number: int) -> Path:
        """Return the file in which a machine's head is."""
        own = read_machines(str(self.homes[number].store_dir)).own
        return self.folder / "heads" / f"{self.remote().head_name(own)}.age"

    def held_bytes(self) -> bytes:
        """Return the contents of all objects in the packs of the remote."""
        remote = self.remote()
        directory = self.directory / "unpacked"
        directory.mkdir(exist_ok=True)
        contents = b""
        for name in remote.list().packs:
            hash, content = remote.read_pack(name)
            (directory / f"pack-{hash}.pack").write_bytes(content)
            for _, frame in Pack(str(directory), hash).scan():
                contents += unpack_frame(frame)
        return contents

    def files(self, folder: str = "") -> list[Path]:
        return sorted(path for path in (self.folder / folder).rglob("*") if path.is_file())


def conversations(home: Home) -> list[Conversation]:
    """Return all sessions of a store, whatever the ids of forks are."""
    store = home.store
    return sorted(
        (
            row.base_id,
            row.is_superseded,
            tuple(store.load(entry.turn, Turn).prompt for entry in store.manifest(row).entries),
        )
        for row in store.rows()
    )

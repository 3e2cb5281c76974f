"""A remote: the files of a storage, under names that the key makes. docs/remotes.md has the layout.

It verifies all that it reads. It knows neither the store nor what this machine did before.
"""

import os

from msgspec import Struct

from ccgrep.errors import NewerVersionError, RemoteError, UntrustedError
from ccgrep.hashing import sha256
from ccgrep.remote.head import Head, decode_head, encode_head
from ccgrep.remote.keys import Key
from ccgrep.remote.storage import ListedFile, MissingFileError, Storage
from ccgrep.store.pack import is_newer_pack, verify_pack_bytes

_FORMAT_TITLE = "ccgrep remote\nformat "
_FORMAT = _FORMAT_TITLE + "1\nencryption {}\n"
_KEY_CHECK = b"ccgrep remote key"


class Listing(Struct, frozen=True):
    """The files of a remote, by their names without folder and suffix."""

    packs: dict[str, ListedFile]
    heads: dict[str, ListedFile]
    tombstones: dict[str, ListedFile]
    vectors: dict[str, ListedFile]
    others: list[ListedFile]


class Remote:
    """A remote that this machine can write, and read if it has the whole key."""

    def __init__(self, storage: Storage, key: Key) -> None:
        self.storage = storage
        self.key = key

    # FORMAT and keys.

    def create(self) -> bool:
        """Make the storage a remote of this key, and return whether it was none before."""
        try:
            self.check()
        except MissingFileError:
            self._refuse_strangers()
        else:
            return False
        if self.key.is_encrypted:
            path = self._key_path()
            self.storage.put(path, self.key.seal_signed(path, _KEY_CHECK))
        self.storage.put("FORMAT", self._format().encode())
        return True

    def check(self) -> None:
        """Raise RemoteError unless this is a remote of this key and of a known format."""
        try:
            text = self.storage.get("FORMAT").decode("utf-8", "replace")
        except MissingFileError:
            raise MissingFileError(
                "there is no remote at the address: check that it is right, and that its disk is "
                "mounted"
            ) from None
        if text == self._format():
            if self.key.is_encrypted:
                self._check_key()
            return
        known = [_FORMAT.format(kind) for kind in ("age", "none")]
        if text not in known:
            number = text.removeprefix(_FORMAT_TITLE).partition("\n")[0]
            if text.startswith(_FORMAT_TITLE) and number.isdecimal() and int(number) > 1:
                raise NewerVersionError(
                    f"the remote has format {number}, from a newer ccgrep: upgrade ccgrep"
                )
            raise RemoteError(
                "FORMAT of the remote is damaged: restore the file, or push to a new remote"
            )
        if self.key.is_encrypted:
            raise RemoteError("the remote is not encrypted: add it with --no-encryption")
        raise RemoteError(
            f"the remote is encrypted with the key {self._known_keys()}: export it on another "
            "machine with `ccgrep remote key export FILE`, and add the remote with --key FILE"
        )

    def identify(self, listing: Listing) -> list[str]:
        """Return the tags of the files that `check` reads: while they stay, so does its result."""
        paths = ("FORMAT", self._key_path())
        return [file.tag for file in listing.others if file.path in paths]

    def _check_key(self) -> None:
        path = self._key_path()
        try:
            data = self.storage.get(path)
        except MissingFileError:
            raise RemoteError(
                f"the remote has another key ({self._known_keys()}): run `ccgrep remote key export "
                "FILE` on a machine that uses it, and add the remote here with --key FILE"
            ) from None
        if self.key.can_read and self.key.open_signed(path, data) != _KEY_CHECK:
            raise UntrustedError(f"{path} is damaged")

    def _refuse_strangers(self) -> None:
        """Raise RemoteError if the storage holds files that are not those of a remote."""
        ours = (self._key_path(), "tmp/")
        other = next((one for one in self.storage.list() if not one.path.startswith(ours)), None)
        if other is not None:
            raise RemoteError(
                f"the address has files, such as '{other.path}', but is not a remote: "
                "choose an empty folder or prefix"
            )

    def _format(self) -> str:
        return _FORMAT.format("age" if self.key.is_encrypted else "none")

    def _key_path(self) -> str:
        return f"keys/{self.key.id}.age"

    def _known_keys(self) -> str:
        paths = [one.path for one in self.storage.list() if one.path.startswith("keys/")]
        return ", ".join(os.path.basename(path).removesuffix(".age") for path in paths) or "unknown"

    # Files.

    def list(self) -> Listing:
        """List the remote with one request."""
        listing = Listing({}, {}, {}, {}, [])
        folders = {
            "packs": listing.packs,
            "heads": listing.heads,
            "forgotten": listing.tombstones,
            "vectors": listing.vectors,
        }
        for file in self.storage.list():
            folder, _, name = file.path.partition("/")
            if folder in folders and name.endswith(self.key.suffix):
                folders[folder][name.removesuffix(self.key.suffix)] = file
            else:
                listing.others.append(file)
        return listing

    def pack_name(self, hash: str) -> str:
        return self.key.name("pack", bytes.fromhex(hash))

    def head_name(self, machine: str) -> str:
        return self.key.name("head", machine.encode())

    def tombstone_name(self, forgotten_key: bytes) -> str:
        return self.key.name("forgotten", forgotten_key)

    def write_pack(self, hash: str, content: bytes) -> str:
        """Write a pack, and return its name."""
        name = self.pack_name(hash)
        self.storage.put(self._path("packs", name), self.key.seal(content))
        return name

    def read_pack(self, name: str) -> tuple[str, bytes]:
        """Return the hash and the content of a pack, compared with its name."""
        path = self._path("packs", name)
        content = self.key.open(path, self.storage.get(path))
        hash = verify_pack_bytes(content)
        if is_newer_pack(content):
            raise NewerVersionError(f"{path} is from a newer ccgrep: upgrade ccgrep")
        if hash is None or self.pack_name(hash) != name:
            raise UntrustedError(f"{path} is damaged, or is not the pack that its name says")
        return hash, content

    def delete_pack(self, name: str) -> None:
        self.storage.delete(self._path("packs", name))

    def write_vectors(self, content: bytes) -> str:
        """Write a file of vectors, and return its name."""
        name = self._vectors_name(content)
        self.storage.put(self._path("vectors", name), self.key.seal(content))
        return name

    def read_vectors(self, name: str) -> bytes:
        """Return a file of vectors, compared with its name. Its numbers may be any."""
        path = self._path("vectors", name)
        content = self.key.open(path, self.storage.get(path))
        if self._vectors_name(content) != name:
            raise UntrustedError(f"{path} is damaged, or is not the file that its name says")
        return content

    def delete_vectors(self, name: str) -> None:
        self.storage.delete(self._path("vectors", name))

    def _vectors_name(self, content: bytes) -> str:
        return self.key.name("vectors", sha256(content).digest())

    def write_head(
        self, head: Head, seen: ListedFile | None = None, is_forced: bool = False
    ) -> None:
        """Replace the head that was seen, or with `is_forced` any.

        Raise ChangedFileError if the storage notices that there is another one now.
        """
        path = self._path("heads", self.head_name(head.machine))
        data = self.key.seal_signed(path, encode_head(head))
        if is_forced:
            self.storage.put(path, data)
        else:
            self.storage.replace(path, data, seen.tag if seen is not None else "")

    def delete_head(self, name: str) -> None:
        self.storage.delete(self._path("heads", name))

    def read_head(self, name: str) -> Head:
        """Return a head. Raise UntrustedError if it is not that of the machine of its name."""
        path = self._path("heads", name)
        head = decode_head(path, self.key.open_signed(path, self.storage.get(path)))
        if self.head_name(head.machine) != name:
            raise UntrustedError(f"{path} is the head of another machine ({head.name})")
        return head

    def write_tombstone(self, forgotten_key: bytes) -> None:
        path = self._path("forgotten", self.tombstone_name(forgotten_key))
        self.storage.put(path, self.key.seal_signed(path, forgotten_key))

    def read_tombstone(self, name: str) -> bytes:
        """Return the key of a forgotten session."""
        path = self._path("forgotten", name)
        key = self.key.open_signed(path, self.storage.get(path))
        if self.tombstone_name(key) != name:
            raise UntrustedError(f"{path} is not the tombstone that its name says")
        return key

    def _path(self, folder: str, name: str) -> str:
        return f"{folder}/{name}{self.key.suffix}"

"""A head: what one machine has, in one file of the remote that only this machine writes.

a zstd frame of a Head in canonical msgpack, signed and encrypted (`keys.py`)
"""

import msgspec
from msgspec import Struct

from ccgrep.errors import NewerVersionError, UntrustedError
from ccgrep.model import ObjectId
from ccgrep.store.access import FEATURES
from ccgrep.store.objects import compress, decompress, encode

_FORMAT = 1
_MAX_BYTES = 1 << 30


class SharedSession(Struct, frozen=True, array_like=True):
    """A session as a head lists it.

    `machine` and `id` are those of the machine that it came from, and `changed` is when that
    machine shared this version, by its own clock.
    """

    machine: str
    id: str
    manifest: ObjectId
    changed: int
    is_superseded: bool = False


class _Version(Struct):
    """The fields of a head that every version reads. They tell whether it can read the rest."""

    machine: str
    machines: dict[str, str] = {}
    features: tuple[str, ...] = ()
    format: int = 1


class Head(Struct, frozen=True, omit_defaults=True):
    """The state of one machine.

    `sequence` grows with each head, and `nonce` tells two heads with the same number apart.
    `applied` are the names of tombstones whose sessions this machine has deleted.
    `machines` has the names of the machines that its sessions came from, by their ids, and
    `repositories` the git repositories of the projects of each. `vectors` has the names of the
    files with the vectors of its texts, by model. `features` are those of its store: a machine that
    does not know one of them cannot read the sessions.
    """

    machine: str
    sequence: int
    nonce: str
    created: int
    packs: tuple[str, ...] = ()
    sessions: tuple[SharedSession, ...] = ()
    applied: tuple[str, ...] = ()
    machines: dict[str, str] = {}
    repositories: dict[str, dict[str, str]] = {}
    vectors: dict[str, tuple[str, ...]] = {}
    features: tuple[str, ...] = ()
    format: int = _FORMAT

    @property
    def name(self) -> str:
        """Return the name of the machine."""
        return self.machines.get(self.machine, self.machine)


def encode_head(head: Head) -> bytes:
    return compress(encode(head))


def decode_head(path: str, data: bytes) -> Head:
    try:
        content = decompress(data, _MAX_BYTES)
        version = msgspec.msgpack.decode(content, type=_Version)
        if version.format > _FORMAT or not FEATURES.issuperset(version.features):
            name = version.machines.get(version.machine, version.machine)
            raise NewerVersionError(
                f"'{name}' has pushed with a newer ccgrep: upgrade ccgrep here to read its sessions"
            )
        return msgspec.msgpack.decode(content, type=Head)
    except (msgspec.MsgspecError, ValueError) as error:
        raise UntrustedError(f"{path} is not a head that this ccgrep can read: upgrade") from error

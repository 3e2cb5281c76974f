"""A head: what one machine has, in one file of the remote that only this machine writes.

a zstd frame of a Head in canonical msgpack, signed and encrypted (`keys.py`)
"""

import msgspec
from msgspec import Struct

from ccgrep.errors import UntrustedError
from ccgrep.model import ObjectId
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


class Head(Struct, frozen=True, omit_defaults=True):
    """The state of one machine.

    `sequence` grows with each head, and `nonce` tells two heads with the same number apart.
    `applied` are the names of tombstones whose sessions this machine has deleted.
    `machines` has the names of the machines that its sessions came from, by their ids, and
    `repositories` the git repositories of the projects of each. `vectors` has the names of the
    files with the vectors of its texts, by model.
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
    format: int = _FORMAT

    @property
    def name(self) -> str:
        """Return the name of the machine."""
        return self.machines.get(self.machine, self.machine)


def encode_head(head: Head) -> bytes:
    return compress(encode(head))


def decode_head(path: str, data: bytes) -> Head:
    try:
        head = msgspec.msgpack.decode(decompress(data, _MAX_BYTES), type=Head)
    except (msgspec.MsgspecError, ValueError) as error:
        raise UntrustedError(f"{path} is not a head that this ccgrep can read: upgrade") from error
    if head.format > _FORMAT:
        raise UntrustedError(f"{path} is from a newer ccgrep: upgrade")
    return head

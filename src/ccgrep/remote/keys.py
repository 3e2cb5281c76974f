"""The key of a remote: it encrypts files (age) and makes names for them (HMAC).

    ccgrep-remote-key 1
    names      64 hex digits: the HMAC key
    recipient  age1…: encrypts
    identity   AGE-SECRET-KEY-…: decrypts; absent on a machine that only pushes

The only module that imports pyrage.
"""

import hmac
import os
from typing import Any

from msgspec import Struct

from ccgrep.errors import RemoteError, UntrustedError
from ccgrep.hashing import sha256
from ccgrep.remote.storage import missing_extra

_TITLE = "ccgrep-remote-key 1"
_MAC_BYTES = 32


class Key(Struct, frozen=True):
    """A key; all fields are empty for a remote without encryption."""

    names: bytes = b""
    recipient: str = ""
    identity: str = ""

    @property
    def is_encrypted(self) -> bool:
        return bool(self.recipient)

    @property
    def can_read(self) -> bool:
        return bool(self.identity) or not self.is_encrypted

    @property
    def id(self) -> str:
        """Return what identifies the key without revealing it."""
        return sha256(b"ccgrep key\0" + self.recipient.encode()).hexdigest()[:16]

    @property
    def suffix(self) -> str:
        return ".age" if self.is_encrypted else ""

    def name(self, kind: str, value: bytes) -> str:
        """Return the name of a file of the remote."""
        return self._mac(kind.encode() + b"\0" + value).hex()

    def seal(self, data: bytes) -> bytes:
        """Return the data encrypted."""
        if not self.is_encrypted:
            return data
        pyrage = _import_pyrage()
        return bytes(pyrage.encrypt(data, [pyrage.x25519.Recipient.from_str(self.recipient)]))

    def open(self, path: str, data: bytes) -> bytes:
        """Return what `seal` encrypted. Raise UntrustedError if this key does not open it."""
        if not self.is_encrypted:
            return data
        if not self.identity:
            raise RemoteError(
                "this machine has only the public half of the key and cannot read the remote: "
                "run `ccgrep remote key import FILE` with the whole key"
            )
        pyrage = _import_pyrage()
        try:
            return bytes(pyrage.decrypt(data, [pyrage.x25519.Identity.from_str(self.identity)]))
        except pyrage.DecryptError:
            raise UntrustedError(
                f"{path} does not decrypt: it is damaged, or was made with another key"
            ) from None

    def seal_signed(self, path: str, data: bytes) -> bytes:
        """Return the data encrypted, with an HMAC that binds it to its path."""
        return self.seal(self._mac(path.encode() + b"\0" + data) + data)

    def open_signed(self, path: str, data: bytes) -> bytes:
        """Return what `seal_signed` encrypted for this path."""
        content = self.open(path, data)
        mac, content = content[:_MAC_BYTES], content[_MAC_BYTES:]
        if not hmac.compare_digest(mac, self._mac(path.encode() + b"\0" + content)):
            raise UntrustedError(f"{path} is forged, damaged, or a copy of another file")
        return content

    def _mac(self, data: bytes) -> bytes:
        return hmac.digest(self.names, data, "sha256")


NO_KEY = Key()
"""The key of a remote without encryption."""


def make_key() -> Key:
    identity = _import_pyrage().x25519.Identity.generate()
    return Key(os.urandom(32), str(identity.to_public()), str(identity))


def format_key(key: Key, is_public: bool = False) -> str:
    """Return a key as text, without its secret half if `is_public`."""
    lines = [_TITLE, f"names {key.names.hex()}", f"recipient {key.recipient}"]
    if key.identity and not is_public:
        lines.append(f"identity {key.identity}")
    return "\n".join([*lines, ""])


def parse_key(text: str) -> Key:
    """Return the key that `format_key` wrote."""
    title, *lines = text.strip().splitlines() or [""]
    fields = dict(line.split(" ", 1) for line in lines if " " in line)
    try:
        names = bytes.fromhex(fields["names"])
        key = Key(names, fields["recipient"].strip(), fields.get("identity", "").strip())
    except (KeyError, ValueError):
        title = ""
    if title.strip() != _TITLE or len(names) != 32:
        raise RemoteError(
            "this is not a key of a remote: run `ccgrep remote key export FILE` on another machine"
        )
    _check_halves(key)
    return key


def _check_halves(key: Key) -> None:
    """Raise RemoteError unless the halves of the key are valid and belong together."""
    pyrage = _import_pyrage()
    x25519 = pyrage.x25519
    try:
        x25519.Recipient.from_str(key.recipient)
        is_pair = not key.identity or (
            str(x25519.Identity.from_str(key.identity).to_public()) == key.recipient
        )
    except (pyrage.RecipientError, pyrage.IdentityError):
        is_pair = False
    if not is_pair:
        raise RemoteError("the key is damaged: export it again on the other machine")


def lock_text(text: str, passphrase: str) -> str:
    """Return text encrypted with a passphrase, as text."""
    data = _import_pyrage().passphrase.encrypt(text.encode(), passphrase, armored=True)
    return bytes(data).decode()


def unlock_text(text: str, passphrase: str) -> str:
    """Return what `lock_text` encrypted."""
    pyrage = _import_pyrage()
    try:
        return bytes(pyrage.passphrase.decrypt(text.encode(), passphrase)).decode()
    except pyrage.DecryptError:
        raise RemoteError("the passphrase is wrong, or the key is damaged") from None


def is_locked(text: str) -> bool:
    return text.lstrip().startswith("-----BEGIN AGE ENCRYPTED FILE-----")


def _import_pyrage() -> Any:
    try:
        import pyrage  # noqa: PLC0415 - an extra
    except ImportError:
        raise missing_extra() from None
    return pyrage

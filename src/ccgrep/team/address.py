"""The address of a team's server. Its password is kept apart and never printed. Pure."""

from __future__ import annotations

from ccgrep.errors import UsageError
from ccgrep.lazy_re import compile_pattern
from ccgrep.light_typing import NamedTuple
from ccgrep.text import one_line

_PARTS = r"(postgres(?:ql)?://)(?:([^@/?#]*)@)?([^@?#]*)(?:\?([^#]*))?"
_LOCAL_HOSTS = ("localhost", "[::1]", "::1")
_SAFE_MODES = ("require", "verify-ca", "verify-full")


class Address(NamedTuple):
    """A URL without its password, and the password as it was typed, percent-encoded."""

    url: str
    password: str = ""

    def whole(self) -> str:
        """Return the URL with its password, for the connection only."""
        scheme, user, rest = _split(self.url)
        return f"{scheme}{user}:{self.password}@{rest}" if self.password else self.url


def parse_address(url: str) -> Address:
    """Return an address. Off loopback it requires TLS."""
    match = compile_pattern(_PARTS).fullmatch(url)
    if match is None:
        raise UsageError(
            f"invalid address '{hide_password(url)}': use postgres://USER@HOST/DATABASE"
        )
    scheme, user, place, query = match[1], match[2] or "", match[3], match[4] or ""
    user, _, password = user.partition(":")
    options = dict(part.partition("=")[::2] for part in query.split("&") if part)
    if "password" in options:
        raise UsageError("an address cannot have ?password=: use postgres://USER:PASSWORD@HOST")
    hosts = [host.rpartition("]")[0] + "]" if host.startswith("[") else host.partition(":")[0]
             for host in place.partition("/")[0].split(",")]  # fmt: skip
    hosts = options.get("host", "").split(",") if options.get("host") else hosts
    hosts += [one for one in options.get("hostaddr", "").split(",") if one]
    # Without a host, libpq takes one from the environment. It ignores `sslmode` for a socket.
    if not all(map(_is_local, hosts)):
        mode = options.setdefault("sslmode", "require")
        if mode not in _SAFE_MODES:
            raise UsageError(
                f"sslmode={one_line(mode)} may send turns without encryption: use "
                f"{', '.join(_SAFE_MODES)}"
            )
    query = "&".join(f"{name}={value}" for name, value in options.items())
    shown_user = f"{user}@" if user else ""
    return Address(f"{scheme}{shown_user}{place}{'?' if query else ''}{query}", password)


def hide_password(text: str) -> str:
    """Return a text with the passwords of all addresses in it replaced by `***`."""
    hidden = compile_pattern(r"(://[^:@/\s]*):\S*@").sub(r"\1:***@", text)
    return compile_pattern(r"(password\s*=\s*)[^&\s]+").sub(r"\1***", hidden)


def _is_local(host: str) -> bool:
    is_address = compile_pattern(r"127(\.\d+){3}").fullmatch(host) is not None
    return is_address or host in _LOCAL_HOSTS or host.startswith(("/", "%2F", "%2f"))


def _split(url: str) -> tuple[str, str, str]:
    scheme, _, rest = url.partition("://")
    end = next((at for at, char in enumerate(rest) if char in "/?"), len(rest))
    user, mark, _ = rest[:end].rpartition("@")
    return f"{scheme}://", user, rest[len(user) + len(mark) :]

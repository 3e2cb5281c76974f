"""Which documents did each of the last commits write to the text index? Pure, but for one file.

    text/<generation>/PIECES   a line for each commit since it was built: "<place> <place> …\\n",
                               and a checksum

Each commit is a piece of its own to tantivy, which merges everything that has fewer than some ten
thousand documents whenever there are eight pieces. That takes seconds, and would be waited for by
every seventh search of somebody who is at work. So now and then the last small pieces are written
again together with what is new, as packs are folded, and there are never eight: two or three are
what a text index is built of. Derived: without it tantivy merges.
"""

import os

from ccgrep.store.checksummed_file import add_checksum, read_checksummed

Piece = list[str]
"""The places that were written in one commit."""

_MOST = 5
_TOGETHER = 3  # So that after a commit that takes longer come some that do not.
_LARGE = 1000
"""Documents of a piece that is left as it is."""


def read(directory: str) -> list[Piece]:
    lines = read_checksummed(os.path.join(directory, "PIECES")).decode().splitlines()
    return [line.split() for line in lines]


def described(pieces: list[Piece]) -> bytes:
    return add_checksum("".join(" ".join(piece) + "\n" for piece in pieces).encode())


def folded(pieces: list[Piece], new: Piece) -> tuple[list[Piece], Piece]:
    """The pieces after a commit of `new`, the last one being what that commit has to write."""
    kept, last = list(pieces), list(new)
    if len(kept) >= _MOST:
        left = len(kept) - _TOGETHER
        while kept and len(kept[-1]) < _LARGE and (len(kept) > left or len(kept[-1]) < len(last)):
            last = kept.pop() + last
    return kept, list(dict.fromkeys(last))

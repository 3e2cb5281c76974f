"""Remember the places that each recent commit wrote to the full-text index.

    text/<generation>/PIECES   a line for each commit since the build: "<place> <place> …\\n",
                               and a checksum

Each commit adds a segment. Tantivy merges segments with fewer than some ten thousand documents
whenever there are eight. That takes seconds, and would delay every seventh search of an active
user. So a commit sometimes writes the documents of the last small commits again, and there are
never eight. PIECES is a hint: without it Tantivy merges.
"""

import os

from ccgrep.store.checksummed_file import add_checksum, read_checksummed

CommitPlaces = list[str]
"""The places that one commit wrote."""

_MAX_COMMITS = 5
_FOLDED_COMMITS = 3  # After a slow commit that folds some, the next two are quick.
_LARGE_COMMIT = 1000
"""The number of documents from which a commit is not written again."""


def read(directory: str) -> list[CommitPlaces]:
    lines = read_checksummed(os.path.join(directory, "PIECES")).decode().splitlines()
    return [line.split() for line in lines]


def encode(commits: list[CommitPlaces]) -> bytes:
    return add_checksum("".join(" ".join(places) + "\n" for places in commits).encode())


def fold(commits: list[CommitPlaces], new: CommitPlaces) -> tuple[list[CommitPlaces], CommitPlaces]:
    """Return the commits to keep, and the places to write in a commit of `new`."""
    kept, last = list(commits), list(new)
    if len(kept) >= _MAX_COMMITS:
        left = len(kept) - _FOLDED_COMMITS
        while (
            kept
            and len(kept[-1]) < _LARGE_COMMIT
            and (len(kept) > left or len(kept[-1]) < len(last))
        ):
            last = kept.pop() + last
    return kept, list(dict.fromkeys(last))

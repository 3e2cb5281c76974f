"""The errors that a user can act on. Each has an exit code, and its message names the fix.

Readers count problems in transcripts and never raise them. A bug stays a plain exception with a
traceback.
"""

from __future__ import annotations


class CcgrepError(Exception):
    """A failure that one sentence can explain."""

    exit_code = 2


class UsageError(CcgrepError):
    """The command line or the configuration makes no sense."""


class RefError(CcgrepError):
    """A REF matches nothing, or more than one turn or session."""


class AmbiguousRefError(RefError):
    """A REF could be any of several sessions. `candidates` are their ids."""

    def __init__(self, message: str, candidates: list[str]) -> None:
        super().__init__(message)
        self.candidates = candidates


class NotFoundError(CcgrepError):
    """Nothing matches. As in grep, that is an answer and not a failure."""

    exit_code = 1


class StoreError(CcgrepError):
    """The store cannot be used in its current state."""


class FormatError(StoreError):
    """A newer version of ccgrep wrote the store, or its FORMAT is damaged."""


class CorruptError(StoreError):
    """The content of a stored file or object does not match its name or checksum."""


class MissingObjectError(CorruptError):
    """No pack holds an object that the snapshot refers to."""


class TextIndexError(StoreError):
    """The full-text index is damaged or missing. It can be rebuilt from the objects."""


class TallyError(StoreError):
    """A tally is damaged. It can be rebuilt from the objects. `name` is its file."""

    def __init__(self, name: str) -> None:
        super().__init__(f"the tally {name} is damaged: run `ccgrep stats` again")
        self.name = name


class LockedError(StoreError):
    """Another process is writing to the store."""


class LostRaceError(LockedError):
    """Another process wrote to the store although it was locked."""

    def __init__(self) -> None:
        super().__init__("another ccgrep wrote to the store meanwhile: run the command again")


class WriteError(StoreError):
    """A file could not be written: disk full, quota exceeded, read-only."""


class ModelError(CcgrepError):
    """The embedding model cannot be used."""


class MissingModelError(ModelError):
    """A package or model that semantic search needs is not installed."""


class DamagedModelError(ModelError):
    """Files of the model are damaged."""


class RemoteError(CcgrepError):
    """A remote cannot be used: unreachable, another key, or not a remote."""


class UntrustedError(RemoteError):
    """A file of a remote is damaged, forged, or belongs elsewhere."""


class NewerVersionError(UntrustedError):
    """A newer version of ccgrep wrote a file of a remote."""


class ClonedMachineError(RemoteError):
    """Another machine writes to the remote with the id of this one."""

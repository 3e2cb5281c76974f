"""The error tree. Each error carries its exit code and says what to do next.

Only what a user can act on is an error here: trouble in a transcript is counted by
the readers and never raised; a bug stays a plain exception with a traceback.
"""

from __future__ import annotations


class CcgrepError(Exception):
    """Something went wrong that one sentence can explain."""

    exit_code = 2


class UsageError(CcgrepError):
    """The command line asks for something that cannot be meant."""


class RefError(CcgrepError):
    """A REF names nothing, or more than one thing."""


class NotFoundError(CcgrepError):
    """Nothing can match: as grep, an answer and not a failure."""

    exit_code = 1


class StoreError(CcgrepError):
    """The store cannot be used as it is."""


class FormatError(StoreError):
    """The store was written by another version of ccgrep."""


class CorruptError(StoreError):
    """Bytes in the store are not what their name says."""


class MissingObjectError(CorruptError):
    """An object that the snapshot refers to is not in any pack."""


class TextIndexError(StoreError):
    """The text index is damaged or gone; it can be rebuilt from the objects."""


class TallyError(StoreError):
    """A tally is damaged; it can be made anew from the objects. `name` is its file."""

    def __init__(self, name: str) -> None:
        super().__init__(f"the tally {name} is damaged: run `ccgrep stats` again")
        self.name = name


class LockedError(StoreError):
    """Another process is writing to the store."""


class LostRaceError(LockedError):
    """Another process has written to the store although it was locked."""

    def __init__(self) -> None:
        super().__init__("another ccgrep wrote to the store meanwhile: run the command again")


class WriteError(StoreError):
    """The store could not be written (disk full, quota, read-only)."""


class ModelError(CcgrepError):
    """The embedding model cannot be used as it is."""


class MissingModelError(ModelError):
    """A package or a model that searching by meaning needs is not installed."""


class DamagedModelError(ModelError):
    """Files of the model are not what they should be."""

"""Pull: read the heads that changed, fetch packs, and merge the sessions under the writer lock."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import NamedTuple

from msgspec import Struct, field
from msgspec.structs import replace

from ccgrep.errors import CorruptError, MissingObjectError, UntrustedError
from ccgrep.remote.head import Head, SharedSession
from ccgrep.remote.incoming import Incoming, has_incoming
from ccgrep.remote.local import LocalRemote, SeenHead, State
from ccgrep.remote.merge import SessionMerge
from ccgrep.remote.remote import Listing, Remote
from ccgrep.remote.storage import MissingFileError
from ccgrep.steps import OnStep, count_steps, ignore_steps
from ccgrep.store import refs
from ccgrep.store.commit import Commit
from ccgrep.store.machines import Machines, read_machines, write_machines
from ccgrep.store.store import Store


class PullReport(Struct):
    """What a pull read and merged. `problems` are files and sessions that it left out."""

    sessions: int = 0
    packs: int = 0
    bytes: int = 0
    vectors: int = 0
    problems: list[str] = field(default_factory=list)
    is_changed: bool = False


class _ReadHead(NamedTuple):
    name: str
    tag: str
    head: Head


class Pull:
    """One pull from one remote, by the holder of its lock."""

    def __init__(
        self,
        local: LocalRemote,
        remote: Remote,
        store: Store,
        machines: Machines,
        now_ms: int,
        on_step: OnStep = ignore_steps,
    ) -> None:
        self._local = local
        self._remote = remote
        self._store = store
        self._now_ms = now_ms
        self._on_step = on_step
        self._machines = machines
        self.report = PullReport()

    def run(self, listing: Listing, lock: Callable[[], AbstractContextManager[object]]) -> None:
        """Merge the heads that changed since the last pull. `lock` locks the store."""
        state = self._local.read_state()
        heads = list(filter(None, (self._read(state, listing, name) for name in listing.heads)))
        if not heads:
            if has_incoming(self._local):
                Incoming(self._local, self._remote, {}).discard()
            return
        incoming = Incoming(self._local, self._remote, listing.packs)
        incoming.fetch_new({name for one in heads for name in one.head.packs}, self._on_step)
        with lock():
            incomplete = self._merge(heads, incoming)
        self.report.packs, self.report.bytes = incoming.packs, incoming.bytes
        self.report.problems[:0] = incoming.problems  # The cause comes first.
        self._remember_machines(heads)
        for one in heads:
            state.heads[one.name] = _see(one, one.name not in incomplete)
        self._local.write_state(state)
        if not incomplete:
            incoming.discard()

    def _read(self, state: State, listing: Listing, name: str) -> _ReadHead | None:
        """Return a head of another machine, or None if it is unchanged or not to be trusted."""
        tag, seen = listing.heads[name].tag, state.heads.get(name)
        is_known = seen is not None and seen.is_merged and seen.tag == tag
        if is_known or name == self._remote.head_name(self._machines.own):
            return None
        try:
            head = self._remote.read_head(name)
        except MissingFileError:
            return None
        except UntrustedError as error:
            self.report.problems.append(str(error))
            return None
        if seen is not None and _is_replayed(head, seen):
            self.report.problems.append(
                f"the head of '{head.name}' is older than one that was seen before, or another "
                "machine wrote it: the storage was rolled back, or a machine was cloned"
            )
            return None
        return _ReadHead(name, tag, head)

    def _merge(self, heads: list[_ReadHead], incoming: Incoming) -> set[str]:
        """Merge heads in one commit, and return those with sessions that could not be read."""
        incomplete: set[str] = set()
        with Commit(self._store) as commit:
            merge = SessionMerge(commit, incoming)
            holders: dict[SharedSession, list[_ReadHead]] = {}
            for one in heads:
                for session in one.head.sessions:
                    holders.setdefault(session, []).append(one)
            # The last change of each session; what was changed before is history.
            last = {(s.machine, s.id): s.changed for s in sorted(holders, key=lambda s: s.changed)}
            newest = (s for s in holders if s.changed == last[s.machine, s.id])
            found = merge.find_new(newest)
            for session in count_steps(found, "sessions merged", len(found), self._on_step):
                try:
                    merge.merge(session)
                except CorruptError as error:
                    incomplete.update(one.name for one in holders[session])
                    names = ", ".join(sorted({one.head.name for one in holders[session]}))
                    is_missing = isinstance(error, MissingObjectError)
                    state = "incomplete" if is_missing else "damaged"
                    self.report.problems.append(
                        f"session {session.id} of '{names}' is {state} in the remote: "
                        "run `ccgrep push` on that machine"
                    )
            self.report.sessions = merge.merged
            if merge.merged:
                refs.require_features(self._store.directory)
                commit.commit(self._now_ms)
                self.report.is_changed = True
        return incomplete

    def _remember_machines(self, heads: list[_ReadHead]) -> None:
        """Store names and repositories of machines; each knows its own best."""
        before = read_machines(self._local.store_dir)  # The user may have renamed it meanwhile.
        own, names, repositories = before.own, before.names, before.repositories
        for head in (one.head for one in heads):
            names = {**head.machines, **names}
            repositories = {**head.repositories, **repositories}
        for head in (one.head for one in heads):
            names[head.machine] = head.name
            repositories[head.machine] = head.repositories.get(head.machine, {})
        names[own] = before.name("")
        repositories[own] = before.repositories.get(own, {})
        machines = replace(before, names=names, repositories=repositories)
        machines = machines.keep_projects(self._store.rows())
        if machines != before:
            write_machines(self._local.store_dir, machines)


def _is_replayed(head: Head, seen: SeenHead) -> bool:
    is_other = head.sequence == seen.sequence and head.nonce != seen.nonce
    return head.sequence < seen.sequence or is_other


def _see(one: _ReadHead, is_merged: bool) -> SeenHead:
    head = one.head
    return SeenHead(
        one.tag,
        head.machine,
        head.sequence,
        head.nonce,
        head.created,
        is_merged,
        len(head.sessions),
        head.applied,
        head.vectors,
    )

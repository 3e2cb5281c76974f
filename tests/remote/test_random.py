"""Homes that push, pull, forget, collect and get killed at random converge and lose nothing."""

import random
import shutil
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from ccgrep.errors import CcgrepError
from ccgrep.fulltext.surfaces import text_key
from ccgrep.ops.gc import forget, gc
from ccgrep.ops.remote import rename_machine
from ccgrep.ops.sync import gc_remote, remove_machine
from ccgrep.store import fsck
from ccgrep.store.machines import read_machines
from tests.helpers import scale
from tests.helpers.faulty_storage import FAULTS, KilledError, killed_write, storage_fault
from tests.helpers.fleet import BOTH, PULL, PUSH, Fleet, conversations
from tests.helpers.homes import Home, assert_same_as_fresh
from tests.helpers.stored import write_session
from tests.helpers.tiny_vectors import embed, embedded, model_dir, remote_keys, use_tiny_model
from tests.helpers.transcripts import ClaudeFile


class Chaos:
    """Random actions, and what must be left of them."""

    def __init__(self, directory: Path, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
        self.random = random.Random(seed)
        fleet = Fleet(directory, self.random.randint(2, 8 if scale.IS_LONG else 3))
        self.fleet = use_tiny_model(fleet, monkeypatch)
        self.actions = self.broken = 0
        self.files: list[tuple[int, ClaudeFile]] = []
        self.forgotten: set[str] = set()
        self.prompts: dict[str, set[str]] = {}
        self._seeds = 0

    def act(self) -> None:
        actions: list[Callable[[], None]] = [
            *[self.write] * 3, *[self.append] * 4, self.copy, self.delete, self.forget,
            *[self.sync] * 6, *[self.sync_broken] * 4, self.collect, self.collect_remote,
            self.remove_machine, self.renew_machine,
        ]  # fmt: skip
        self.random.choice(actions)()
        self.actions += 1

    def _number(self) -> int:
        return self.random.randrange(len(self.fleet.homes))

    def _index(self, number: int, file: ClaudeFile) -> None:
        self.fleet[number].index()
        embed(self.fleet[number])
        prompts = self.prompts.setdefault(file.id, set())
        records = [record for record in file.records if isinstance(record, dict)]
        texts = [record["message"]["content"] for record in records if record["type"] == "user"]
        prompts.update(text for text in texts if isinstance(text, str))

    def write(self) -> None:
        self._seeds += 1
        number = self._number()
        file = write_session(self.fleet[number], self._seeds, turns=2)
        self.files.append((number, file))
        self._index(number, file)

    def append(self) -> None:
        if self.files:
            number, file = self.random.choice(self.files)
            self._seeds += 1
            file.diverge(self._seeds)
            file.turn(f"more {self._seeds}", "answer")
            file.write()
            self._index(number, file)

    def copy(self) -> None:
        """Copy a transcript to another home, as a cloned disk does."""
        if self.files:
            _, file = self.random.choice(self.files)
            number = self._number()
            copy = self.fleet[number].claude(1, session_id=file.session_id)
            copy.records = list(file.records)
            copy.now_ms, copy.last_uuid = file.now_ms, file.last_uuid
            if not copy.path.exists():
                copy.write()
                self.files.append((number, copy))
                self._index(number, copy)

    def delete(self) -> None:
        """Delete a transcript, as Claude Code does after a month."""
        if self.files:
            number, file = self.files.pop(self.random.randrange(len(self.files)))
            file.path.unlink()
            self.fleet[number].index()

    def forget(self) -> None:
        home = self.fleet[self._number()]
        bases = (
            sorted({row.base_id for row in home.store.rows()}) if home.store_dir.exists() else []
        )
        if bases and self.random.random() < 0.5:
            base = self.random.choice(bases)
            rows = [row.session.id for row in home.store.rows() if row.base_id == base]
            self.forgotten.add(base)
            forget(home.config, rows)

    def sync(self) -> None:
        self.fleet.sync(self._number(), self.random.choice([PULL, PUSH, BOTH, BOTH]))

    def sync_broken(self) -> None:
        at, fault = self.random.randint(1, 12), self.random.choice(FAULTS)
        broken = self.random.choice([storage_fault(at, fault), killed_write(at * 2)])
        self.broken += 1
        with broken, suppress(KilledError, CcgrepError):
            self.sync()

    def collect(self) -> None:
        gc(self.fleet[self._number()].config)

    def collect_remote(self) -> None:
        gc_remote(self.fleet[self._number()].config, "r", grace_days=0)

    def remove_machine(self) -> None:
        """Remove a machine that is not gone: it comes back."""
        number, other = self._number(), self._number()
        own = read_machines(str(self.fleet[other].store_dir)).own
        with suppress(CcgrepError):  # It is the same machine, or has never pushed.
            remove_machine(self.fleet[number].config, "r", own)

    def renew_machine(self) -> None:
        """Give a machine a new id, and leave the head of the old one."""
        number = self._number()
        rename_machine(self.fleet[number].config, f"machine{number}", is_new_id=True)

    def check(self) -> None:
        """Assert that all homes have the same sessions, nothing lost and nothing resurrected."""
        self.fleet.settle()
        first = conversations(self.fleet[0])
        for home in self.fleet.homes:
            assert conversations(home) == first
            report = fsck.check(home.store)
            assert (report.damaged, report.lost) == ([], [])
        assert {base for base, *_ in first} & self.forgotten == set()
        for id, prompts in self.prompts.items():
            if id not in self.forgotten:
                kept = {prompt for base, _, turns in first if base == id for prompt in turns}
                assert prompts <= kept, (id, prompts - kept)
        self._check_vectors({prompt for *_, turns in first for prompt in turns})
        for home in self.fleet.homes[: scale.of(1, len(self.fleet.homes))]:
            # A fresh store has other vectors, or no trace of a model at all.
            shutil.rmtree(model_dir(home).parent, ignore_errors=True)
            assert_same_as_fresh(home, self._find_changed(home))

    def _check_vectors(self, kept: set[str]) -> None:
        """Assert that no vector of a forgotten text is left anywhere."""
        forgotten = {prompt for id in self.forgotten for prompt in self.prompts.get(id, ())} - kept
        keys = {text_key(prompt) for prompt in forgotten}
        assert keys & remote_keys(self.fleet) == set()
        for home in self.fleet.homes:
            assert keys & embedded(home) == set()

    def _find_changed(self, home: Home) -> set[str]:
        """Return the sessions of which the store knows something else than the transcripts."""
        changed = set(self.forgotten)
        for row in home.store.rows():
            is_plain = row.session.id == row.base_id and not row.is_gone and not row.is_superseded
            if row.provenance is not None or not is_plain or any(f.is_partial for f in row.files):
                changed |= {row.base_id, row.session.id}
        return changed


@pytest.mark.parametrize("seed", range(20 if scale.IS_LONG else 3))
def test_random_actions_converge(
    tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch, figure: Callable[[str], None]
) -> None:
    chaos = Chaos(tmp_path, seed, monkeypatch)
    deadline = time.monotonic() + 60
    for _ in range(200 if scale.IS_LONG else 25):
        chaos.act()
        if scale.IS_LONG and time.monotonic() > deadline:
            break
    chaos.check()
    figure(
        f"remote, random: {len(chaos.fleet.homes)} machines, {chaos.actions} actions, "
        f"{chaos.broken} broken syncs, {len(chaos.prompts)} sessions, {len(chaos.forgotten)} "
        "forgotten: 0 lost, 0 resurrected"
    )

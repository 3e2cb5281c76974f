"""Formats remotes, their machines, and what a sync did, as text and as JSON fields."""

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from ccgrep.ops.remote import RemoteInfo, RemoteStatus
from ccgrep.ops.sync import SyncReport
from ccgrep.output.formatting import byte_size, iso_time, pluralize, short_age
from ccgrep.remote.check import RemoteCheck
from ccgrep.remote.collect import CollectReport
from ccgrep.text import escape, one_line


def remote_lines(remotes: Sequence[RemoteInfo]) -> Iterator[str]:
    for remote in remotes:
        key = "not encrypted" if remote.key == "none" else f"key {remote.key}"
        if remote.key == "team":
            names = ", ".join(map(one_line, remote.projects))
            key = f"team, pushes {names}" if names else "team, pushes nothing"
        note = ", push only" if remote.is_push_only else ""
        yield f"{remote.name}\t{one_line(remote.url)}\t{key}{note}"


def remote_fields(remotes: Sequence[RemoteInfo]) -> dict[str, Any]:
    return {"remotes": [msgspec.structs.asdict(remote) for remote in remotes]}


def status_lines(status: RemoteStatus, now_ms: int) -> Iterator[str]:
    yield from remote_lines([status.remote])
    yield f"{pluralize(status.packs, 'pack')}, {byte_size(status.bytes)}"
    if status.forgotten:
        yield _describe_forgets(status)
    for machine in status.machines:
        this = " (this machine)" if machine.is_this else ""
        if machine.pushed is None:
            yield f"{one_line(machine.name)}{this}: never pushed"
            continue
        age = short_age(machine.pushed, now_ms)
        sessions = pluralize(machine.sessions or 0, "session")
        yield f"{one_line(machine.name)}{this}: pushed {age} ago, {sessions}"


def _describe_forgets(status: RemoteStatus) -> str:
    """Return which machines have confirmed that they forgot what any machine has forgotten."""
    done = [one_line(one.name) for one in status.machines if not one.missing_forgets]
    late = [one_line(one.name) for one in status.machines if one.missing_forgets]
    text = f"forgotten sessions: confirmed by {', '.join(done) or 'no machine'}"
    return f"{text}, not yet by {', '.join(late)}" if late else text


def status_fields(status: RemoteStatus) -> dict[str, Any]:
    fields: dict[str, Any] = msgspec.to_builtins(status)
    for machine in fields["machines"]:
        machine["pushed"] = iso_time(machine["pushed"])
    return fields


def sync_lines(report: SyncReport, is_dry_run: bool = False) -> Iterator[str]:
    if report.forgotten:
        yield f"{report.remote}: {pluralize(report.forgotten, 'session')} forgotten"
    if report.pulled is not None:
        size = f" ({byte_size(report.pulled.bytes)})" if report.pulled.bytes else ""
        vectors = report.pulled.vectors
        more = f" and {pluralize(vectors, 'vector')}" if vectors else ""
        yield f"{report.remote}: pulled {pluralize(report.pulled.sessions, 'session')}{more}{size}"
    pushed = report.pushed
    if pushed is not None and is_dry_run:
        objects = pluralize(pushed.objects, "object")
        yield f"{report.remote}: would push {pluralize(pushed.sessions, 'session')}, {objects}"
    elif pushed is not None:
        size = f" ({byte_size(pushed.bytes)})" if pushed.bytes else ""
        yield f"{report.remote}: pushed {pluralize(pushed.sessions, 'session')}{size}"


def sync_fields(reports: Sequence[SyncReport]) -> dict[str, Any]:
    return {"remotes": [msgspec.to_builtins(report) for report in reports]}


def collect_line(report: CollectReport) -> str:
    kept = f", {report.kept:,} unreferenced ones are too young" if report.kept else ""
    return f"deleted {pluralize(report.packs, 'pack')} ({byte_size(report.bytes)}){kept}"


def check_lines(report: RemoteCheck) -> Iterator[str]:
    read = f", {pluralize(report.objects, 'object')} read" if report.objects else ""
    yield f"{pluralize(report.heads, 'head')}, {pluralize(report.packs, 'pack')}{read}"
    for problem in report.damaged:
        yield f"damaged: {escape(problem)}"
    for problem in report.missing:
        yield f"missing: {escape(problem)}"
    for problem in report.unreadable:
        yield f"not checked: {escape(problem)}"
    if report.damaged:
        yield (
            "delete damaged files from the storage, then run `ccgrep push` on every machine: those "
            "that list a file write it again"
        )
    if report.missing:
        yield (
            "run `ccgrep push` on that machine; if it is gone for good, run `ccgrep remote "
            "remove-machine NAME` on another one"
        )

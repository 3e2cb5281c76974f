"""Encodes JSON documents that are safe to print on a terminal, and lists the fields of reports.

Texts are complete. Characters that act on a terminal are written as JSON escapes, so a parser
reads the original text. Secrets are redacted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from ccgrep.output.formatting import iso_time
from ccgrep.text import json_escape, redact_values

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ccgrep.ingest.report import IndexReport
    from ccgrep.ops.embed import EmbedReport
    from ccgrep.ops.fsck import FsckResult
    from ccgrep.ops.gc import ForgetReport
    from ccgrep.ops.restore import RestoredFile
    from ccgrep.ops.secrets import FoundSecret
    from ccgrep.ops.sources import SourceList
    from ccgrep.ops.status import Status
    from ccgrep.search.request import Coverage
    from ccgrep.settings import Setting
    from ccgrep.store.manifest import SourceFile

SCHEMA = 1


def encode_document(fields: dict[str, Any]) -> str:
    """Return the fields as one JSON object with a schema version."""
    return encode({"schema": SCHEMA, **fields})


def encode(value: Any) -> str:
    """Return JSON of plain values, structs and stored objects."""
    plain = redact_values(msgspec.to_builtins(value))
    return json_escape(msgspec.json.encode(plain).decode())


def coverage_fields(coverage: Coverage) -> dict[str, Any]:
    return {
        "is_fresh": coverage.is_fresh,
        "behind_files": coverage.behind_files,
        "behind_bytes": coverage.behind_bytes,
    }


def index_fields(
    report: IndexReport, set_aside: str = "", embedded: EmbedReport | None = None
) -> dict[str, Any]:
    fields: dict[str, Any] = msgspec.to_builtins(report)
    if set_aside:
        fields["set_aside"] = set_aside
    if embedded is not None:
        fields["embedded"] = {"model": embedded.model, "texts": embedded.done}
    return fields


def status_fields(status: Status) -> dict[str, Any]:
    return {**msgspec.to_builtins(status), "last_indexed": iso_time(status.last_indexed)}


def source_fields(found: SourceList) -> dict[str, Any]:
    """Return the agents, and the plug-ins that do not work."""
    return {"sources": msgspec.to_builtins(found.sources), "problems": found.problems}


def settings_fields(settings: Mapping[str, Setting], path: str) -> dict[str, Any]:
    fields = {name: {"value": s.value, "origin": s.origin} for name, s in settings.items()}
    return {"file": path, "settings": fields}


def fsck_fields(result: FsckResult) -> dict[str, Any]:
    fields: dict[str, Any] = msgspec.to_builtins(result.report)
    if result.repaired is not None:
        fields["repaired"] = msgspec.to_builtins(result.repaired)
    return fields


def forget_fields(result: ForgetReport) -> dict[str, Any]:
    fields = msgspec.structs.asdict(result.report)
    return {"forgotten": list(result.sessions), "held_by": result.copies, **fields}


def restore_fields(files: Sequence[RestoredFile]) -> dict[str, Any]:
    return {"files": [msgspec.structs.asdict(file) for file in files]}


def version_fields(versions: Sequence[SourceFile]) -> dict[str, Any]:
    return {
        "versions": [
            {
                "path": file.path,
                "size": file.stored_bytes,
                "modified": iso_time(file.mtime_ns // 1_000_000),
            }
            for file in versions
        ]
    }


def secrets_fields(found: list[FoundSecret]) -> dict[str, Any]:
    return {
        "secrets": [
            {
                "session_id": secret.place.session,
                "turn": secret.place.turn,
                "rule": secret.rule,
                "fingerprint": secret.fingerprint,
                "kinds": secret.kinds,
            }
            for secret in found
        ]
    }

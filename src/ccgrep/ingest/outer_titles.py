"""Finds the titles of sessions in the transcripts of other sessions.

Up to version 2.1.86, Claude Code wrote the summary of a session into a transcript that it began
later in the same directory. The summary names a record of the session that it describes.
"""

import os
from collections.abc import Collection, Iterator

from ccgrep.ingest.merge import Merge
from ccgrep.ingest.retitle import set_title
from ccgrep.store.commit import Commit
from ccgrep.store.manifest import Manifest, Row


def apply_outer_titles(merge: Merge) -> None:
    """Give sessions the summaries of them that the transcripts of others hold."""
    for id, title in list(_find_titles(merge.commit, merge.merged_ids)):
        set_title(merge.commit, id, title, "summary")


def _find_titles(commit: Commit, merged_ids: Collection[str]) -> Iterator[tuple[str, str]]:
    """Yield sessions that a summary elsewhere describes, if this ingest merged either of the two.

    Manifests are loaded only for directories with such summaries, which are rare and old.
    """
    folders: dict[str, list[Row]] = {}
    for row in commit.rows():
        if row.session.source == "claude_code" and row.session.kind == "main" and row.files:
            folders.setdefault(os.path.dirname(row.files[0].path), []).append(row)
    for group in folders.values():
        describing = [row for row in group if row.session.summaries]
        is_news = any(row.session.id in merged_ids for row in describing)
        targets = [row for row in group if is_news or row.session.id in merged_ids]
        titles = {leaf: text for row in describing for text, leaf in row.session.summaries}
        for row in targets if titles else ():
            title = _find_title(titles, commit.manifest(row))
            if title:
                yield row.session.id, title


def _find_title(titles: dict[bytes, str], manifest: Manifest) -> str:
    """Return the summary of the latest record."""
    found = ""
    for entry in manifest.entries:
        for start in range(0, len(entry.uuids), 16):
            found = titles.get(entry.uuids[start : start + 16], found)
    return found

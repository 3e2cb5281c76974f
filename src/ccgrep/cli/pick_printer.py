"""Prints hits as rows for fzf."""

from collections.abc import Iterator

from ccgrep.cli.context import Context
from ccgrep.cli.search_printer import SearchPrinter
from ccgrep.ops.marks import marked_places
from ccgrep.output.pick_row import PickPage, format_row
from ccgrep.output.record_line import snippet_parts
from ccgrep.search.searcher import FoundHit, Searcher

LIST_COLUMNS = "CCGREP_PICK_COLUMNS"
"""The environment variable with the width of fzf's list."""


def pick_page(context: Context) -> PickPage:
    width = context.environment.get(LIST_COLUMNS, "")
    columns = int(width) if width.isdigit() else context.width
    return PickPage(columns, context.now_ms, context.style_for("always"))


class PickPrinter(SearchPrinter):
    """Prints each hit as a record line and what fzf shows of it."""

    def _record_lines(self, hits: list[FoundHit], searcher: Searcher) -> Iterator[str]:
        page = pick_page(self._context)
        marked = marked_places(self._context.config())
        for record, found in zip(super()._record_lines(hits, searcher), hits, strict=True):
            # A snippet starts a quarter before the match, which is then in the middle.
            parts = snippet_parts(found, 2 * page.text_width)
            places = (found.hit.place, *found.hit.also_in)
            is_marked = any(place in marked for place in places)
            yield format_row(
                record, found.stored.project, found.hit.started, parts, page, is_marked
            )

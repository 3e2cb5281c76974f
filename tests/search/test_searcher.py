"""A search leaves nothing behind: a server runs thousands of them."""

import gc
import weakref

from ccgrep.kinds import TextKind
from ccgrep.ops.search import search
from ccgrep.search.request import Request
from ccgrep.search.searcher import SearchOptions
from tests.helpers.homes import Home


def test_searcher_is_freed_without_garbage_collection(home: Home) -> None:
    file = home.claude()
    file.turn("where is the zebra", "in the zoo", "cat animals", "a numbat")
    file.write()
    home.index()
    types: tuple[TextKind, ...] = ("tool",)
    gc.disable()
    try:
        request = Request(("numbat",), types=types, excludes_own_output=True)
        result = search(home.config, request, SearchOptions())
        assert len(result.load_hits(types)) == 1
        searcher = weakref.ref(result.searcher)
        del result
        assert searcher() is None
    finally:
        gc.enable()

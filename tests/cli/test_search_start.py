"""A search imports only the modules that it needs."""

import pytest

from tests.helpers.homes import Home
from tests.helpers.imports import imported_modules

HEAVY = {
    "argparse", "asyncio", "backports.zstd", "bisect", "ccgrep.mcp", "ccgrep.refresh.watch",
    "collections", "compression", "ctypes", "enum", "functools", "hashlib", "inspect", "json",
    "mcp", "mcp_types", "msgspec", "multiprocessing", "numpy", "onnxruntime", "pydantic", "re",
    "re2", "sentence_transformers", "shutil", "socket", "subprocess", "tempfile", "tokenizers",
    "torch", "transformers", "tree_sitter", "typing", "typing_extensions", "unicodedata",
    "usearch", "watchfiles",
}  # fmt: skip

OF_RE2 = {"collections", "functools"}


@pytest.fixture
def zoo(home: Home) -> Home:
    file = home.claude()
    file.turn("where is the zebra", "in the zoo")
    file.write()
    home.rest()
    home.index()
    return home


@pytest.mark.parametrize("options", [(), ("--no-refresh",), ("-n", "3"), ("-C", "1")])
def test_word_search_imports_nothing_heavy(zoo: Home, options: tuple[str, ...]) -> None:
    assert imported_modules(zoo, *options, "zebra") & HEAVY == set()


def test_exact_search_for_one_literal_imports_nothing_heavy(zoo: Home) -> None:
    assert imported_modules(zoo, "-F", "zebra") & HEAVY == set()


@pytest.mark.parametrize("options", [("-F", "-i"), ("-F", "-w"), ("-F", "-e", "lion"), ("-E",)])
def test_other_exact_searches_import_re2_and_nothing_else_heavy(
    zoo: Home, options: tuple[str, ...]
) -> None:
    assert imported_modules(zoo, *options, "-e", "zebra") & HEAVY - OF_RE2 == {"re2"}


def test_ordinary_text_does_not_import_re(home: Home) -> None:
    file = home.claude()
    file.turn(
        "where is the zebra … “the” token\tis a secret: see https://example.org/zoo?key=one",
        "in the zoo – key, password and bearer of the api-key: none\n\n  ✓ señor 斑马",
    )
    file.write()
    home.rest()
    home.index()
    assert imported_modules(home, "zebra") & {"re"} == set()


@pytest.mark.parametrize("typed", [("session", ""), ("ref", "@")])
def test_completion_values_import_nothing_heavy(zoo: Home, typed: tuple[str, ...]) -> None:
    assert imported_modules(zoo, "__complete", *typed) & HEAVY == set()


def test_probe_sees_imports(zoo: Home) -> None:
    assert "msgspec" in imported_modules(zoo, "--json", "zebra")

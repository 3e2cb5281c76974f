"""A word search imports nothing that it does not need; the test names the culprit."""

import subprocess
import sys

import pytest

from tests.helpers.homes import Home

HEAVY = {
    "argparse", "asyncio", "backports.zstd", "bisect", "ccgrep.mcp", "ccgrep.refresh.watch",
    "collections", "compression", "ctypes", "enum", "functools", "hashlib", "inspect", "json",
    "mcp", "mcp_types", "msgspec", "multiprocessing", "numpy", "onnxruntime", "pydantic", "re",
    "re2", "sentence_transformers", "shutil", "socket", "subprocess", "tempfile", "tokenizers",
    "torch", "transformers", "tree_sitter", "typing", "typing_extensions", "unicodedata",
    "usearch", "watchfiles",
}  # fmt: skip

OF_RE2 = {"collections", "functools"}

PROBE = """
import sys
from ccgrep.cli import main
code = main(sys.argv[1:])
sys.stdout.flush()
print("\\n".join(sys.modules), file=sys.stderr)
sys.exit(code)
"""


def imported(home: Home, *arguments: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", PROBE, *arguments],
        env=home.environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "zebra" in done.stdout
    return set(done.stderr.split())


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
    assert imported(zoo, *options, "zebra") & HEAVY == set()


def test_exact_search_for_one_literal_imports_nothing_heavy(zoo: Home) -> None:
    assert imported(zoo, "-F", "zebra") & HEAVY == set()


@pytest.mark.parametrize("options", [("-F", "-i"), ("-F", "-w"), ("-F", "-e", "lion"), ("-E",)])
def test_other_exact_searches_import_re2_and_nothing_else_heavy(
    zoo: Home, options: tuple[str, ...]
) -> None:
    assert imported(zoo, *options, "-e", "zebra") & HEAVY - OF_RE2 == {"re2"}


def test_ordinary_text_needs_no_regular_expression(home: Home) -> None:
    file = home.claude()
    file.turn(
        "where is the zebra … “the” token\tis a secret: see https://example.org/zoo?key=one",
        "in the zoo – key, password and bearer of the api-key: none\n\n  ✓ señor 斑马",
    )
    file.write()
    home.rest()
    home.index()
    assert imported(home, "zebra") & {"re"} == set()


@pytest.mark.parametrize("typed", [("session", ""), ("ref", "@")])
def test_live_values_of_completions_import_nothing_heavy(zoo: Home, typed: tuple[str, ...]) -> None:
    assert imported(zoo, "__complete", *typed) & HEAVY == set()


def test_the_probe_sees_what_is_imported(zoo: Home) -> None:
    assert "msgspec" in imported(zoo, "--json", "zebra")

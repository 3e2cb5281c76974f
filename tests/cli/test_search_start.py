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
    assert imported(zoo, *options, "-e", "zebra") & HEAVY == {"re2"}


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


@pytest.mark.parametrize("typed", [("list",), ("--json", "zebra")])
def test_msgspec_is_imported_without_what_it_does_not_need(
    zoo: Home, typed: tuple[str, ...]
) -> None:
    unneeded = {"decimal", "msgspec.inspect", "msgspec.yaml", "platform", "typing_extensions"}
    assert imported(zoo, *typed) & {"msgspec", *unneeded} == {"msgspec"}


def python(home: Home, program: str) -> tuple[str, str]:
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=home.environment,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stderr, done.stdout


def test_what_was_hidden_from_msgspec_can_be_imported_afterwards(home: Home) -> None:
    program = (
        "import sys; from ccgrep.quick import import_msgspec; import_msgspec(); "
        "print({'msgspec', 'decimal', 'uuid', 'typing_extensions'} & {*sys.modules}); "
        "import decimal, typing_extensions, uuid; print(typing_extensions.Required); "
        "import msgspec.inspect, msgspec.toml; print(type(msgspec.inspect.type_info(int))); "
        "assert uuid.uuid1() and decimal.Decimal('1.0')"
    )
    said = "{'msgspec'}\ntyping.Required\n<class 'msgspec.inspect.IntType'>\n"
    assert python(home, program) == ("", said)


def test_a_msgspec_that_wants_what_was_hidden_is_imported_as_it_is(home: Home) -> None:
    program = (
        "import sys; from ccgrep import quick; quick._HIDDEN['uuid'] = (); quick.import_msgspec(); "
        "assert 'msgspec' not in sys.modules; "
        "import msgspec, uuid; print(msgspec.json.encode(uuid.UUID(int=0)))"
    )
    assert python(home, program) == ("", "b'\"00000000-0000-0000-0000-000000000000\"'\n")


def test_the_probe_sees_what_is_imported(zoo: Home) -> None:
    assert "msgspec" in imported(zoo, "--json", "zebra")

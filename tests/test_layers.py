"""The layers of ARCHITECTURE.md: which room may import which, and who may write, print or exit."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "ccgrep"
MODULES = sorted(path for path in SOURCE.rglob("*.py"))

FOUNDATION = {
    "__version__",
    "colors",
    "errors",
    "hashing",
    "kinds",
    "lazy_re",
    "light_typing",
    "markup",
    "model",
    "paths",
    "steps",
    "worker_pool",
}
"""Modules that every room may import."""

MAY_IMPORT = {
    "colors": set(),
    "errors": set(),
    "hashing": set(),
    "kinds": set(),
    "lazy_re": set(),
    "light_typing": set(),
    "markup": set(),
    "model": set(),
    "paths": set(),
    "steps": set(),
    "secret_checks": set(),
    "secrets": {"secret_checks"},
    "worker_pool": set(),
    "text": {"secrets"},
    "sources": set(),
    "settings": {"text"},
    "config": {"settings", "sources", "text"},
    "store": set(),
    "refs": {"store", "text"},
    "fulltext": {"sources", "store"},
    "rebuild": {"sources", "store", "text"},
    "ingest": {"fulltext", "rebuild", "sources", "store", "text"},
    "semantic": {"config", "fulltext", "store", "text"},
    "refresh": {"config", "fulltext", "ingest", "semantic", "sources", "store"},
    "remote": {"ingest", "semantic", "store"},
    "team": {"config", "fulltext", "refs", "search", "secrets", "semantic", "store", "text"},
    "search": {"config", "fulltext", "refs", "semantic", "store", "text"},
    "blame": {"fulltext", "refs", "search", "sources", "store", "text"},
    "stats": {"fulltext", "refs", "search", "sources", "store", "text"},
    "ops": {
        "blame",
        "config",
        "fulltext",
        "ingest",
        "rebuild",
        "refresh",
        "refs",
        "remote",
        "search",
        "secrets",
        "semantic",
        "sources",
        "stats",
        "store",
        "team",
        "text",
    },
    "output": {
        "blame",
        "config",
        "ingest",
        "ops",
        "remote",
        "search",
        "settings",
        "sources",
        "stats",
        "store",
        "team",
        "text",
    },
    "mcp": {"config", "ops", "output", "search", "sources", "store", "text"},
    "cli": {
        "config",
        "ingest",
        "mcp",
        "ops",
        "output",
        "refresh",
        "search",
        "semantic",
        "settings",
        "sources",
        "stats",
        "team",
        "text",
    },
}
"""Rooms, and the rooms they may use besides themselves."""

ONE_IMPORTER = {
    "backports": {"store/objects.py", "store/originals.py", "sources/zst.py"},
    "compression": {"store/objects.py", "store/originals.py", "sources/zst.py"},
    "ctypes": {"team/libpq.py"},
    "fcntl": {"store/fsio.py", "store/lock.py"},
    "huggingface_hub": {"semantic/encoder.py", "semantic/model.py"},
    "markdown_it": {"output/safe_html.py"},
    "mcp": set(),
    "mcp_types": set(),
    "mmap": {"semantic/safetensors.py", "store/tally_files.py"},
    "multiprocessing": {"worker_pool.py"},
    "numkong": {"semantic/vector_files.py"},
    "numpy": {"semantic/", "stats/", "search/semantic_search.py"},
    "obstore": {"remote/object_storage.py"},
    "onnx": {"semantic/int8_bert.py"},
    "onnxruntime": {"semantic/int8_bert.py"},
    "psycopg": set(),
    "pydantic": set(),
    "pygments": {"output/safe_html.py"},
    "pyrage": {"remote/keys.py"},
    "sentence_transformers": {"semantic/encoder.py"},
    "sqlite3": {"sources/sqlite_file.py"},
    "subprocess": {
        "cli/pager.py",
        "cli/pick_callbacks.py",
        "blame/git.py",
        "cli/commands/pick.py",
        "cli/setup_sync.py",
        "remote/ssh_storage.py",
        "worker_pool.py",
    },
    "re2": {"search/regex.py"},
    "tantivy": {"fulltext/reader.py", "fulltext/schema.py", "fulltext/writer.py"},
    "tokenizers": {
        "semantic/tokenizer.py",
        "semantic/piece_tokenizer.py",
        "semantic/configured_model.py",
    },
    "tree_sitter": {"stats/shell.py"},
    "tree_sitter_bash": {"stats/shell.py"},
    "usearch": {"semantic/vector_writer.py", "semantic/vectors.py"},
    "torch": set(),
    "transformers": {"semantic/encoder.py"},
    "watchfiles": {"refresh/watch.py"},
}
NEVER = {
    "argparse", "asyncio", "http", "marshal", "pickle", "requests", "socket", "urllib",
}  # fmt: skip

AT_IMPORT_NEVER = {
    "huggingface_hub", "numpy", "onnx", "onnxruntime", "sentence_transformers", "tokenizers",
    "torch", "transformers",
}  # fmt: skip
"""Libraries that only functions may import, except in modules that are imported late."""

WRITES = {
    "chmod", "fsync", "ftruncate", "link", "makedirs", "mkdir", "pwrite", "remove", "rename",
    "replace", "rmdir", "rmtree", "symlink", "truncate", "unlink", "utime", "write",
}  # fmt: skip


def room(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def imports(path: Path) -> Iterator[str]:
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            module = node.module or ""
            yield module
            if module == "ccgrep":
                yield from (f"ccgrep.{name.name}" for name in node.names)


def attributes(path: Path, owner: str) -> set[str]:
    """Return the attributes of `owner` that a module uses."""
    return {
        node.attr
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == owner
    }


def open_modes(path: Path) -> Iterator[str]:
    for node in ast.walk(tree(path)):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
            continue
        if node.func.id == "open" and len(node.args) > 1:
            yield ast.literal_eval(node.args[1])


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_rooms_import_only_what_they_may(path: Path) -> None:
    here = room(path)
    if here in ("__init__", "__main__"):
        return
    used = {name.split(".")[1] for name in imports(path) if name.startswith("ccgrep.")}
    assert used - {here} - FOUNDATION <= MAY_IMPORT[here]


def test_ops_modules_do_not_import_each_other() -> None:
    for path in sorted((SOURCE / "ops").glob("*.py")):
        used = {name for name in imports(path) if name.startswith("ccgrep.ops")}
        assert not used, path


def test_heavy_libraries_have_one_importer() -> None:
    for path in MODULES:
        name = str(path.relative_to(SOURCE))
        for library in {module.split(".")[0] for module in imports(path)}:
            allowed = ONE_IMPORTER.get(library)
            assert allowed is None or any(name.startswith(place) for place in allowed), (
                f"{name} imports {library}"
            )


def test_no_module_imports_a_forbidden_library() -> None:
    for path in MODULES:
        used = {module.split(".")[0] for module in imports(path)}
        assert not used & NEVER, f"{path} imports {used & NEVER}"


NUMERIC_MODULES = {
    "bert.py", "embedding.py", "int8_bert.py", "light_encoder.py", "multilingual_encoder.py",
    "multilingual_weights.py", "piece_tokenizer.py", "prune.py", "safetensors.py",
    "stored_vectors.py", "vector_exchange.py", "vector_files.py", "vector_writer.py", "vectors.py",
    "whitening.py",
}  # fmt: skip


def test_model_runtimes_are_imported_only_to_make_an_encoder() -> None:
    for path in sorted((SOURCE / "semantic").glob("*.py")):
        at_import = {
            name.name.split(".")[0]
            for node in tree(path).body
            if isinstance(node, ast.Import)
            for name in node.names
        } | {
            (node.module or "").split(".")[0]
            for node in tree(path).body
            if isinstance(node, ast.ImportFrom)
        }
        is_numeric = path.name in NUMERIC_MODULES
        allowed = {"numpy"} if is_numeric else set()
        assert at_import & AT_IMPORT_NEVER == allowed, path


def test_only_cli_reads_the_environment() -> None:
    for path in MODULES:
        if room(path) != "cli":
            assert not attributes(path, "os") & {"environ", "getenv"}, path


def test_only_cli_and_output_print_and_exit() -> None:
    for path in MODULES:
        if room(path) in ("cli", "output", "__main__"):
            continue
        called = {
            node.func.id
            for node in ast.walk(tree(path))
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        }
        assert not called & {"print", "exit", "quit", "input"}, path
        assert not attributes(path, "sys") & {"exit", "stdout", "stderr", "stdin"}, path


def test_only_fsio_writes() -> None:
    for path in MODULES:
        name = str(path.relative_to(SOURCE))
        if name == "store/fsio.py" or room(path) == "cli":
            continue
        allowed = {"write"} if name == "refresh/background.py" else set()  # to a pipe
        assert not attributes(path, "os") & WRITES - allowed, f"{name} writes past fsio"
        assert not attributes(path, "shutil") & WRITES, f"{name} writes past fsio"
        for mode in open_modes(path):
            assert set(mode) <= set("rb"), f"{name} opens a file for writing"


def test_rules_find_what_they_forbid_in_the_place_that_may_have_it() -> None:
    fsio = SOURCE / "store" / "fsio.py"
    assert attributes(fsio, "os") >= {"rename", "fsync", "unlink"}
    assert attributes(SOURCE / "cli" / "context.py", "os") & {"environ"}
    assert "fcntl" in set(imports(SOURCE / "store" / "lock.py"))


def test_tables_have_no_stale_entries() -> None:
    used: dict[str, set[str]] = {}
    importers: dict[str, set[str]] = {}
    for path in MODULES:
        name = str(path.relative_to(SOURCE))
        for module in imports(path):
            first, *rest = module.split(".")
            importers.setdefault(first, set()).add(name)
            if first == "ccgrep" and rest:
                used.setdefault(room(path), set()).add(rest[0])
    unused = {here: rooms - used.get(here, set()) for here, rooms in MAY_IMPORT.items()}
    assert {here: rooms for here, rooms in unused.items() if rooms} == {}
    stale = [
        (library, place)
        for library, places in ONE_IMPORTER.items()
        for place in places
        if not any(name.startswith(place) for name in importers.get(library, ()))
    ]
    assert stale == []


def test_no_test_imports_another_test() -> None:
    for path in sorted(Path(__file__).parent.rglob("*.py")):
        used = [name for name in imports(path) if re.search(r"(^|\.)test_\w+$", name)]
        assert used == [], f"{path}: move what is shared to a helper module"

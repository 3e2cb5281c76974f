"""`ccgrep blame`: the turns that touched a file, and the turn that wrote a line."""

import re
from pathlib import Path

import pytest

from ccgrep.model import Turn
from ccgrep.ops.blame import blame
from ccgrep.search.request import Filters
from ccgrep.search.turn_reader import TurnReader
from tests.helpers.attacks import ATTACKS, acting
from tests.helpers.homes import Home
from tests.helpers.hostile_home import RECORD, write_escaped
from tests.helpers.transcripts import ClaudeFile, CodexFile

FILE = "/home/sam/src/shop/src/auth/jwt.ts"


def patch(codex: CodexFile, text: str, output: str = "Exit code: 0\nDone") -> None:
    codex.item("custom_tool_call", name="apply_patch", input=text, call_id="c1", status="completed")
    codex.item("custom_tool_call_output", call_id="c1", output=output)


def edit(file: ClaudeFile, path: str, old: str, new: str, **fields: object) -> None:
    given = {"file_path": path, "old_string": old, "new_string": new, **fields}
    file.result(file.call("Edit", given), "ok")


@pytest.fixture
def shop(home: Home) -> Home:
    file = home.claude(1)
    file.prompt("look at it")
    file.result(file.call("Read", {"file_path": FILE}), "code")
    file.answer("I did")
    file.prompt("change it")
    file.result(file.call("Read", {"file_path": FILE}), "code")
    edit(file, FILE, "a", "b")
    file.result(file.call("Write", {"file_path": "/home/sam/src/shop/xjwt.ts", "content": "x"}), "")
    file.answer("done")
    file.prompt("fail at it")
    failed = {"file_path": FILE, "old_string": "1", "new_string": "2"}
    file.result(file.call("Edit", failed), "no match", is_error=True)
    file.answer("sorry")
    file.turn("only mention src/auth/jwt.ts", "yes", f"cat {FILE}", "code")
    file.write()
    codex = home.codex(2, cwd="/home/sam/src/api")
    codex.meta()
    codex.prompt("patch both")
    patch(
        codex,
        "*** Begin Patch\n*** Update File: src/auth/jwt.ts\n@@\n-a\n+b\n"
        "*** Add File: docs/new.md\n+hello\n*** Delete File: old.md\n"
        "*** Update File: from.md\n*** Move to: to.md\n@@\n-1\n+2\n*** End Patch\n",
    )
    codex.answer("patched")
    codex.prompt("through the shell")
    codex.command(
        "apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: sh.md\n+x\n*** End Patch\nEOF", ""
    )
    codex.answer("too")
    codex.write()
    home.index()
    return home


def blamed(home: Home, *arguments: str) -> list[str]:
    done = home.run("blame", "--no-refresh", *arguments)
    assert done.returncode == (0 if done.stdout else 1), done.stderr
    return [re.sub(r"^[^:]+:(\d+):1\.000:", r"\1 ", line) for line in done.stdout.splitlines()]


def delete_index(home: Home) -> None:
    for path in sorted((home.store_dir / "text").rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()


@pytest.mark.parametrize("is_indexed", [True, False], ids=["index", "scan"])
def test_lists_turns_that_read_or_changed_a_file_newest_first(shop: Home, is_indexed: bool) -> None:
    if not is_indexed:
        delete_index(shop)
    api = "/home/sam/src/api/src/auth/jwt.ts"
    ours = [f"1 read, edited {FILE}: change it", f"0 read {FILE}: look at it"]
    assert blamed(shop, FILE) == ours
    for suffix in ("jwt.ts", "auth/jwt.ts", "./src/auth/jwt.ts"):
        assert blamed(shop, suffix) == [f"0 edited {api}: patch both", *ours]
    assert blamed(shop, api) == [f"0 edited {api}: patch both"]
    assert blamed(shop, "wt.ts") == []
    assert blamed(shop, "uth/jwt.ts") == []
    assert blamed(shop, "docs/new.md") == ["0 wrote /home/sam/src/api/docs/new.md: patch both"]
    assert blamed(shop, "old.md") == ["0 deleted /home/sam/src/api/old.md: patch both"]
    assert blamed(shop, "from.md") == ["0 deleted /home/sam/src/api/from.md: patch both"]
    assert blamed(shop, "to.md") == ["0 edited /home/sam/src/api/to.md: patch both"]
    assert blamed(shop, "sh.md") == ["1 wrote /home/sam/src/api/sh.md: through the shell"]
    assert blamed(shop, "jwt.ts", "-n1") == [f"0 edited {api}: patch both"]
    assert blamed(shop, "jwt.ts", "--source", "claude-code") == ours
    assert blamed(shop, "jwt.ts", "--tool", "edit") == ours[:1]


def test_lines_are_records_that_show_accepts(shop: Home) -> None:
    lines = shop.run("blame", "jwt.ts", "--full-id").stdout
    assert all(RECORD.fullmatch(line) for line in lines.splitlines())
    shown = shop.run("show", "-", input=lines)
    assert re.findall("user: (.*)", shown.stdout) == ["patch both", "change it", "look at it"]


def test_json_lists_the_actions_on_each_file(shop: Home) -> None:
    found = shop.json("blame", "auth/jwt.ts", "-p", "shop")
    assert (found["schema"], found["file"], found["line"]) == (1, "auth/jwt.ts", None)
    first = found["turns"][0]
    assert (first["turn"], first["prompt"], first["source"]) == (1, "change it", "claude_code")
    assert first["files"] == [{"path": FILE, "actions": ["read", "edited"]}]
    assert first["id"] == shop.manifest(first["session_id"]).entries[1].turn.hex()


def test_exit_1_without_a_turn_and_exit_2_without_a_file_name(shop: Home) -> None:
    done = shop.run("blame", "nothing.ts")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "ccgrep: no turn is known to have read or changed 'nothing.ts'\n"
    for name in ("", ".", "/"):
        done = shop.run("blame", name)
        assert (done.returncode, done.stdout) == (2, "")
        assert "does not name a file" in done.stderr


def test_blame_refreshes_first(shop: Home) -> None:
    file = shop.claude(9)
    file.prompt("just now")
    edit(file, FILE, "b", "c")
    file.answer("done")
    file.write()
    assert blamed(shop, FILE, "-n1")[0].startswith("1 read, edited")
    assert shop.run("blame", FILE, "-n1").stdout.endswith(f":0:1.000:edited {FILE}: just now\n")


def test_turn_shared_by_a_fork_is_printed_once(home: Home) -> None:
    file = home.claude(1)
    file.prompt("change it")
    edit(file, FILE, "a", "b")
    file.answer("done")
    file.write()
    fork = file.fork(file.path.parent, len(file.records), 2)
    fork.turn("and on", "yes")
    fork.write()
    home.index()
    assert len(blamed(home, FILE)) == 1


# Lines


@pytest.fixture
def edited_file(home: Home) -> tuple[Home, Path]:
    """Return a file that agents wrote, edited and patched, and a person edited by hand."""
    path = home.directory / "work" / "app.py"
    path.parent.mkdir()
    name = str(path)
    file = home.claude(1, cwd=str(path.parent))
    file.prompt("write")
    file.result(
        file.call("Write", {"file_path": name, "content": "one\ntwo\nthree\nfour\nfive\n"}), ""
    )
    file.answer("x")
    file.prompt("edit")
    edit(file, name, "two\nthree", "two\nTHREE\nthree and a half")
    file.answer("x")
    file.prompt("many")
    edits = [
        {"old_string": "five", "new_string": "FIVE"},
        {"old_string": "FIVE", "new_string": "FIVE\nsix = 6"},
    ]
    file.result(file.call("MultiEdit", {"file_path": name, "edits": edits}), "")
    file.answer("x")
    file.write()
    codex = home.codex(2, cwd=str(path.parent))
    codex.meta()
    codex.prompt("patch")
    patch(
        codex,
        "*** Begin Patch\n*** Update File: app.py\n@@\n one\n-two\n+2\n THREE\n*** End Patch",
    )
    codex.answer("x")
    codex.write()
    home.index()
    path.write_text("zero, by hand\none\n2\nTHREE\nthree and a half\nfour\nFIVE\nsix = 6\n")
    return home, path


@pytest.mark.parametrize("is_indexed", [True, False], ids=["index", "scan"])
def test_line_option_finds_the_turn_that_wrote_the_line(
    edited_file: tuple[Home, Path], is_indexed: bool
) -> None:
    home, path = edited_file
    if not is_indexed:
        delete_index(home)
    authors = []
    for number in range(1, 9):
        done = home.run("blame", "--no-refresh", "-L", str(number), "app.py", cwd=path.parent)
        authors.append((done.returncode, done.stdout.rpartition(": ")[2].strip()))
    assert authors == [
        (1, ""),
        (0, "write"),
        (0, "patch"),
        (0, "edit"),
        (0, "edit"),
        (0, "write"),
        (0, "many"),
        (0, "many"),
    ]


def test_line_without_a_known_author_is_reported(edited_file: tuple[Home, Path]) -> None:
    home, path = edited_file
    done = home.run("blame", "-L1", str(path))
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        f"ccgrep: no turn is known to have written line 1 of '{path}': "
        "it is older, or was written by hand or by a shell command\n"
    )


def test_line_that_occurs_twice_has_no_known_author(home: Home) -> None:
    path = home.directory / "a.txt"
    file = home.claude(1)
    file.prompt("edit")
    edit(file, str(path), "x", "again")
    file.answer("done")
    file.write()
    home.index()
    path.write_text("again\nother\nagain\n")
    done = home.run("blame", "-L1", str(path))
    assert (done.returncode, "occurs there more than once" in done.stderr) == (1, True)
    path.write_text("again\nother\n")
    assert home.run("blame", "-L1", str(path)).returncode == 0
    assert home.run("blame", "-L2", str(path)).returncode == 1


@pytest.mark.parametrize("line", ["0", "9", "100"])
def test_line_beyond_the_file_is_exit_2(edited_file: tuple[Home, Path], line: str) -> None:
    home, path = edited_file
    done = home.run("blame", "-L", line, str(path))
    assert (done.returncode, "has 8 lines" in done.stderr) == (2, True)


def test_line_option_needs_an_existing_file(edited_file: tuple[Home, Path]) -> None:
    home, path = edited_file
    path.unlink()
    done = home.run("blame", "-L1", str(path))
    assert (done.returncode, "-L needs the present file" in done.stderr) == (2, True)


def test_hostile_text_is_inert_in_blame(home: Home) -> None:
    for number, text in enumerate(ATTACKS.values()):
        file = home.claude(number + 1)
        file.prompt(f"prompt {number} {text}")
        file.result(file.call("Write", {"file_path": f"/x/{text}/a.py", "content": text}), "")
        file.answer("done")
        write_escaped(file)
    home.index()
    done = home.run("blame", "a.py")
    assert (done.returncode, acting(done.stdout), done.stderr) == (0, [], "")
    lines = done.stdout.splitlines()
    assert [line for line in lines if not RECORD.fullmatch(line)] == []
    assert len(lines) == len(ATTACKS)
    assert acting(home.run("blame", "a.py", "--json").stdout) == []


def test_index_narrows_blame_to_one_turn(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    file = home.claude(1)
    for number in range(200):
        file.prompt(f"prompt {number}")
        file.result(file.call("Read", {"file_path": f"/x/file{number}.py"}), "text")
        file.answer("done")
    file.write()
    home.index()
    numbers = []
    read = TurnReader.turn

    def read_turn(turns: TurnReader, session: str, number: int) -> Turn | None:
        numbers.append(number)
        return read(turns, session, number)

    monkeypatch.setattr(TurnReader, "turn", read_turn)
    assert len(blame(home.config, "file77.py", Filters())) == 1
    assert numbers == [77]

"""The commands as a user runs them: whole outputs, exit codes and streams."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers.homes import Home, assert_same_as_fresh
from tests.helpers.terminal import on_terminal


@pytest.fixture
def shop(home: Home) -> Home:
    file = home.claude(1)
    file.prompt("Help me fix the auth bug")
    file.blocks(
        {"type": "thinking", "thinking": "The clock may be off."},
        {"type": "text", "text": "I'll investigate the authentication."},
    )
    file.result(file.call("Bash", {"command": "git status"}), "clean")
    file.result(file.call("Read", {"file_path": "src/auth/handler.ts"}), "code")
    file.result(file.call("Write", {"file_path": "a.txt", "content": "12345"}), "ok")
    file.result(file.call("Grep", {"pattern": "jwt", "path": "src"}), "none", is_error=True)
    file.result(
        file.call("Task", {"subagent_type": "Explore", "description": "look", "prompt": "p"}), "x"
    )
    file.result(file.call("WebFetch", {"url": "http://example"}), "x")
    file.answer("Fixed: the token expired too early.")
    file.turn("thanks", "You're welcome.")
    file.meta("ai-title", aiTitle="Fix the auth bug")
    file.write()
    codex = home.codex(2)
    codex.meta()
    codex.turn("日本語の検索を直して", "直しました")
    codex.write()
    home.index()
    return home


def session_of(home: Home, source: str) -> str:
    return next(id for id, row in home.rows().items() if row.session.source == source)


def test_show_prints_a_conversation(shop: Home) -> None:
    id = session_of(shop, "claude_code")
    done = shop.run("show", id)
    turns = [entry.turn.hex()[:10] for entry in shop.manifest(id).entries]
    assert done.returncode == 0
    assert done.stdout == (
        f"[2026-09-21 14:42] Session {id} (claude_code)\n"
        "Title: Fix the auth bug\n"
        "Project: /home/sam/src/shop\n"
        "Duration: 17s | Messages: 11 | Tools: 6\n"
        "\n"
        f"--- 0 @{turns[0]} 2026-09-21 14:42\n"
        "user: Help me fix the auth bug\n"
        "assistant: I'll investigate the authentication.\n"
        "assistant: Fixed: the token expired too early.\n"
        "\n"
        f"--- 1 @{turns[1]} 2026-09-21 14:42\n"
        "user: thanks\n"
        "assistant: You're welcome.\n"
    )


def test_show_tools_renders_calls_compactly(shop: Home) -> None:
    id = session_of(shop, "claude_code")
    done = shop.run("show", f"{id}:0", "--tools", "--thinking")
    assert done.stdout.splitlines()[6:] == [
        "user: Help me fix the auth bug",
        "thinking: The clock may be off.",
        "assistant: I'll investigate the authentication.",
        "  [Bash] git status",
        "    clean",
        "  [Read] src/auth/handler.ts",
        "    code",
        "  [Write] a.txt (5 chars)",
        "    ok",
        "  [Grep] jwt (failed)",
        "    none",
        "  [Task] Explore look",
        "    x",
        "  [WebFetch]",
        "    x",
        "assistant: Fixed: the token expired too early.",
    ]


def test_show_json_has_messages_and_tools(shop: Home) -> None:
    id = session_of(shop, "claude_code")
    shown = shop.json("show", id[:9])
    assert (shown["schema"], shown["id"], shown["source"]) == (1, id, "claude_code")
    assert shown["started_at"] == "2026-09-21T14:42:09.000Z"
    assert [(m["turn"], m["role"], m["content"]) for m in shown["messages"]] == [
        (0, "user", "Help me fix the auth bug"),
        (0, "assistant", "I'll investigate the authentication."),
        (0, "assistant", "Fixed: the token expired too early."),
        (1, "user", "thanks"),
        (1, "assistant", "You're welcome."),
    ]
    assert shown["turns"][0]["tools_used"] == [
        {"tool": "Bash", "command": "git status"},
        {"tool": "Read", "file": "src/auth/handler.ts"},
        {"tool": "Write", "file": "a.txt", "chars": 5},
        {"tool": "Grep", "pattern": "jwt"},
        {"tool": "Task", "type": "Explore", "description": "look"},
        {"tool": "WebFetch"},
    ]


def test_show_by_turn_id_and_by_prefix(shop: Home) -> None:
    id = session_of(shop, "claude_code")
    turn = shop.manifest(id).entries[1].turn.hex()
    by_id = shop.run("show", f"@{turn[:7]}")
    assert by_id.returncode == 0
    assert by_id.stdout == shop.run("show", f"{id[:8]}:1").stdout
    assert "user: thanks" in by_id.stdout


def test_show_reads_refs_and_record_lines_from_stdin(shop: Home) -> None:
    id = session_of(shop, "claude_code")
    lines = f"{id[:8]}:1:0.873:thanks a lot: really\n{id}\tage\tproject\n"
    done = shop.run("show", "-", input=lines)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("user: thanks") == 2


@pytest.mark.parametrize(
    ("ref", "message"),
    [
        ("zzzzzzzz", "no session matches"),
        ("@abcdef1234", "no turn matches"),
        ("a b", "is not a REF"),
        ("", "is not a REF"),
    ],
)
def test_unknown_ref_is_an_error(shop: Home, ref: str, message: str) -> None:
    done = shop.run("show", ref)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr


def test_turn_out_of_range_names_the_number_of_turns(shop: Home) -> None:
    done = shop.run("show", f"{session_of(shop, 'claude_code')}:99")
    assert done.returncode == 2
    assert "turn 99 is out of range (session has 2 turns)" in done.stderr


def test_ambiguous_ref_lists_candidates(home: Home) -> None:
    for number in (1, 2):
        file = home.claude(number, name=f"aaaaaaaa-{number}")
        file.turn(f"prompt {number}", "x")
        file.write()
    home.index()
    done = home.run("show", "aaaa")
    assert (done.returncode, done.stdout) == (2, "")
    assert "ambiguous" in done.stderr
    assert "aaaaaaaa-1  prompt 1" in done.stderr
    assert "aaaaaaaa-2  prompt 2" in done.stderr


def test_list_in_a_pipe_is_tab_separated_and_most_recent_first(shop: Home) -> None:
    done = shop.run("list")
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    assert [[row[0], row[2], row[3], row[4]] for row in rows] == [
        [session_of(shop, "codex")[:8], "api", "1", "日本語の検索を直して"],
        [session_of(shop, "claude_code")[:8], "shop", "2", "Fix the auth bug"],
    ]


@pytest.mark.parametrize(
    ("arguments", "sources"),
    [
        (["--source", "codex"], ["codex"]),
        (["--source", "claude-code"], ["claude_code"]),
        (["--source", "claude_code"], ["claude_code"]),
        (["--project", "SRC/SHOP"], ["claude_code"]),
        (["--project", "nowhere"], []),
        (["--since", "2026-10-01T00:00Z"], ["codex"]),
        (["--until", "2026-09-30"], ["claude_code"]),
        (["--since", "20y", "-n", "1"], ["codex"]),
        (["-n", "0"], ["codex", "claude_code"]),
    ],
)
def test_list_filters(shop: Home, arguments: list[str], sources: list[str]) -> None:
    listed = shop.json("list", *arguments)
    assert [session["source"] for session in listed["sessions"]] == sources


def test_bad_time_is_exit_2(shop: Home) -> None:
    done = shop.run("list", "--since", "soon")
    assert done.returncode == 2
    assert "invalid time 'soon'" in done.stderr


def test_index_json_has_the_documented_keys(home: Home) -> None:
    file = home.claude()
    file.turn("a", "b")
    file.meta("brand-new-type", x=1)
    file.raw(b"{broken\n")
    file.write()
    report = home.json("index")
    assert report.pop("seconds") < 60
    assert report == {
        "schema": 1,
        "plugin_problems": [],
        "files_seen": 1,
        "files_parsed": 1,
        "bytes_parsed": file.path.stat().st_size,
        "turns": 1,
        "documents": 1,
        "behind_files": 0,
        "behind_bytes": 0,
        "new_objects": 1,
        "new_sessions": 1,
        "bad_lines": 1,
        "unknown_types": {"brand-new-type": 1},
        "troubles": [],
    }


def test_status_json_has_the_documented_keys(shop: Home) -> None:
    status = shop.json("status")
    assert status["store_bytes"] > 0
    assert status.pop("last_indexed").endswith("Z")
    for key in ("objects", "source_bytes", "store_bytes", "store_dir"):
        assert status.pop(key)
    assert status == {
        "schema": 1,
        "sessions": 2,
        "turns": 3,
        "gone_sessions": 0,
        "sources": {
            "claude_code": {"files": 1, "sessions": 1, "turns": 2},
            "codex": {"files": 1, "sessions": 1, "turns": 1},
        },
        "behind": {"files": 0, "bytes": 0},
        "unkept": {"files": 0, "bytes": 0, "days_left": None},
        "unwritten_roots": [],
        "bad_lines": 0,
        "unknown_types": {},
        "embeddings": None,
    }


def test_status_counts_files_that_are_not_indexed_yet(shop: Home) -> None:
    file = shop.claude(9)
    file.turn("new", "one")
    size = file.write().stat().st_size
    assert shop.json("status")["behind"] == {"files": 1, "bytes": size}


def test_verbose_status_lists_damaged_lines(home: Home) -> None:
    file = home.claude()
    file.turn("a", "b")
    offset = len(b"".join(file.lines()))
    file.raw(b'{"type":"user","cut\n')
    file.write()
    home.index()
    assert f"{file.path}:{offset}: 20 bytes, not JSON" in home.run("status", "-v").stdout


def test_commands_without_a_store_suggest_index(home: Home) -> None:
    for command in (["status"], ["restore", "x"], ["gc"], ["fsck"], ["forget", "x"]):
        done = home.run(*command)
        assert (done.returncode, done.stdout) == (2, "")
        assert "run `ccgrep index`" in done.stderr


def test_index_without_transcripts_suggests_root(home: Home, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    done = home.run("index", env={"HOME": str(empty)})
    assert (done.returncode, "--root" in done.stderr) == (2, True)
    done = home.run("index", "--root", str(empty))
    assert (done.returncode, "has no history of an agent" in done.stderr) == (2, True)


def test_root_option_can_be_repeated(home: Home, tmp_path: Path) -> None:
    for seed, name in enumerate(("one", "two"), 1):
        other = Home(tmp_path / name)
        file = other.claude(seed)
        file.turn(f"from {name}", "yes")
        file.write()
    roots = ["--root", str(tmp_path / "one"), "--root", str(tmp_path / "two" / ".claude")]
    assert home.run("index", *roots).returncode == 0
    assert sorted(home.prompts(id)[0] for id in home.rows()) == ["from one", "from two"]
    home.index()
    assert not any(row.is_gone for row in home.rows().values())


def test_source_limits_what_is_read(shop: Home) -> None:
    claude, codex = shop.claude(11), shop.codex(12)
    codex.meta()
    for file in (claude, codex):
        file.turn("x", "y")
        file.write()
    report = shop.json("index", "--source", "codex")
    assert (report["files_seen"], report["new_sessions"]) == (2, 1)
    assert not any(row.is_gone for row in shop.rows().values())


def test_verbose_prints_files_and_quiet_prints_nothing(home: Home) -> None:
    file = home.claude()
    file.turn("a", "b")
    file.write()
    quiet = home.run("index", "-q")
    assert (quiet.stdout, quiet.stderr) == ("", "")
    file.turn("c", "d")
    file.append()
    assert str(file.path) in home.run("index", "-v").stderr


def test_progress_bar_is_drawn_only_on_a_terminal(home: Home) -> None:
    file = home.claude()
    file.turn("a", "b")
    file.write()
    assert "█" not in home.run("index", "--full").stderr
    assert "█" in on_terminal(home, "index", "--full")


INTERRUPT_AFTER_COMMIT = """
import os, signal, sys
from ccgrep.cli import main
from ccgrep.store.commit import Commit
commit = Commit.commit
def commit_and_interrupt(self, *arguments, **changes):
    commit(self, *arguments, **changes)
    os.killpg(0, signal.SIGINT)
Commit.commit = commit_and_interrupt
sys.exit(main(["index"]))
"""


def test_ctrl_c_keeps_what_was_committed_and_exits_130(home: Home) -> None:
    file = home.claude(1)
    file.turn("a", "b")
    file.write()
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPT_AFTER_COMMIT],
        env=home.environment,
        capture_output=True,
        text=True,
        check=False,
        start_new_session=True,
    )
    assert done.returncode == 130
    assert done.stderr == "ccgrep: interrupted; everything committed is kept\n"
    assert home.rows().keys() == {file.id}
    other = home.claude(2)
    other.turn("c", "d")
    other.write()
    assert home.run("index", "-q").returncode == 0
    assert_same_as_fresh(home)


@pytest.mark.parametrize(
    "command",
    ["show {}", "list", "export {}", "export {} -f html --tools", "blame handler.ts", "settings"],
)
def test_closed_pipe_is_quiet(shop: Home, command: str) -> None:
    typed = command.format(session_of(shop, "claude_code"))
    for _ in range(3):
        done = subprocess.run(
            f"{sys.executable} -m ccgrep {typed} | head -1; echo ${{PIPESTATUS[0]}}",
            shell=True,
            executable="/bin/bash",
            env=shop.environment,
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stderr == ""
        assert done.stdout.splitlines()[-1] == "0"


def test_output_is_the_same_bytes_in_every_locale(shop: Home) -> None:
    plain = shop.run("list", env={"LC_ALL": "C", "PYTHONUTF8": "0"})
    utf8 = shop.run("list", env={"LC_ALL": "C.UTF-8"})
    assert plain.stdout == utf8.stdout
    assert "日本語" in plain.stdout


def test_extra_words_after_a_command_suggest_a_search(home: Home) -> None:
    done = home.run("index", "rebuild")
    assert (done.returncode, done.stdout) == (2, "")
    assert "`ccgrep search index rebuild`" in done.stderr


def test_mistyped_option_is_exit_2(home: Home) -> None:
    done = home.run("index", "--ful")
    assert (done.returncode, done.stdout) == (2, "")
    assert "unknown option '--ful': did you mean --full?" in done.stderr


def test_every_command_has_help(home: Home) -> None:
    overview = home.run("--help").stdout
    for name in ("index", "status", "list", "show", "fsck", "gc", "forget"):
        assert re.search(rf"^  {name} ", overview, re.MULTILINE)
        shown = home.run(name, "--help")
        assert shown.returncode == 0
        assert "exit status:" in shown.stdout


def test_version(home: Home) -> None:
    assert re.fullmatch(r"ccgrep \d+\.\d+\.\d+\n", home.run("--version").stdout)


def test_modules_in_the_current_directory_are_not_imported(shop: Home, tmp_path: Path) -> None:
    for name in ("json", "msgspec", "argparse", "zlib"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('hijacked')")
    script = Path(sys.executable).with_name("ccgrep")
    done = subprocess.run(
        [script, "list"],
        cwd=tmp_path,
        env=shop.environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_json_output_parses_back_to_the_text(home: Home) -> None:
    file = home.claude()
    nasty = "bell\x07 esc\x1b[31m bidi\u202e zero\u200b tag\U000e0041 nel\x85 ls\u2028 end"
    file.turn(nasty, "ok")
    file.write()
    home.index()
    done = home.run("show", file.id, "--json")
    assert json.loads(done.stdout)["messages"][0]["content"] == nasty
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e\u200b\u2028\U000e0041]", done.stdout)


def test_hostile_text_is_escaped_on_every_surface(home: Home) -> None:
    nasty = "\x1b]0;pwned\x07\x9b31m\u202e\u200b\U000e0041\r\x08\x00"
    file = home.claude(cwd=f"/tmp/{nasty}")
    file.prompt(f"start {nasty} end")
    file.result(file.call(f"Tool{nasty}", {"command": nasty}), nasty)
    file.answer(f"start {nasty} end")
    file.meta("custom-title", customTitle=f"title {nasty}\nsecond line")
    file.meta(f"type{nasty}")
    file.raw(nasty.encode() + b"\n")
    file.write()
    commands = [
        ["index", "-v"],
        ["list"],
        ["status", "-v"],
        ["show", file.id, "--tools", "--thinking"],
        ["show", nasty.replace("\0", "")],
        ["list", "--since", nasty.replace("\0", "")],
        [nasty.replace("\0", "")],
        ["fsck"],
    ]
    for command in commands:
        done = home.run(*command)
        both = done.stdout + done.stderr
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e\u200b\U000e0041]", both), command
    assert "start \\x1b]0;pwned\\x07" in home.run("show", file.id).stdout
    assert len(home.run("list").stdout.splitlines()) == 1


def test_start_up_imports_nothing_heavy(home: Home) -> None:
    code = (
        "import sys; from ccgrep.cli import main; main(['--version']); "
        "print(*sorted({name.partition('.')[0] for name in sys.modules}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=home.environment,
        capture_output=True,
        text=True,
        check=True,
    )
    loaded = set(done.stdout.split())
    heavy = {"msgspec", "tantivy", "usearch", "numpy", "asyncio", "json", "inspect", "subprocess"}
    assert loaded & heavy == set()

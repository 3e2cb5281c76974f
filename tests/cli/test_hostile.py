"""Hostile text acts on no surface, forges no record and runs nothing; ordinary text stays."""

import io
import json
import os
import pty
import random
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from ccgrep.cli import main
from ccgrep.ops.search import search
from ccgrep.search.request import Request
from ccgrep.search.searcher import SearchOptions
from tests.helpers import scale
from tests.helpers.attacks import ATTACKS, BENIGN, acting
from tests.helpers.homes import Home
from tests.helpers.transcripts import ClaudeFile

RECORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9._~-]{7,63}:[0-9]+:[01]\.[0-9]{3}:.*")
COLOUR = re.compile(r"\x1b\[(?:0|1|2|1;31|1;36|3[0-7])m")


def write(file: ClaudeFile) -> None:
    """As Claude Code would write text that is no UTF-8: everything beyond ASCII escaped."""
    for record in [r for r in file.records if isinstance(r, dict)]:
        file.records[file.records.index(record)] = json.dumps(record).encode() + b"\n"
    file.write()


def fill(home: Home, texts: Sequence[str]) -> list[str]:
    """A session for each text, with the text wherever a transcript has any. Gives their ids."""
    ids = []
    for number, text in enumerate(texts):
        where = f"/home/sam/{text}/in{number}{text}"
        file = home.claude(number + 1, slug=f"-home-{number}", cwd=where, version=f"2.1 {text}")
        said: dict[str, Any] = {"gitBranch": f"branch{number}{text}", "slug": f"slug {text}"}
        file.prompt(f"needle{number} commonword {text} tail{number}", **said)
        given = {"command": f"inword{number} {text} x", f"key {text}": [text]}
        file.result(file.call("Bash", given, **said), f"outword{number} toolword {text} y", **said)
        call = file.call(f"mcp__{text}", {"x": text}, **said)
        file.result(call, [{"type": "text", "text": f"more {text}"}], is_error=True, **said)
        change = {"file_path": f"{where}/touched.py", "old_string": text, "new_string": f"{text}!"}
        file.result(file.call("Edit", change, **said), "done", **said)
        file.blocks(
            {"type": "thinking", "thinking": f"thoughtword {number} {text} z"},
            {"type": "text", "text": f"answer{number} commonword {text} end{number}"},
            model=f"model {text}",
            **said,
        )
        file.prompt(f"second{number} {text} prompt", **said)
        file.answer(f"reply{number} {text} done", **said)
        file.meta("ai-title", aiTitle=f"title{number} {text} of it")
        file.meta(f"unknown {text}")
        write(file)
        ids.append(file.id)
    home.index()
    return ids


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Home:
    home = Home(tmp_path_factory.mktemp("hostile") / "home")
    fill(home, list(ATTACKS.values()))
    return home


@pytest.fixture(scope="module")
def ordinary(tmp_path_factory: pytest.TempPathFactory) -> Home:
    home = Home(tmp_path_factory.mktemp("ordinary") / "home")
    fill(home, BENIGN)
    return home


def on_terminal(home: Home, *arguments: str, code: int | None = None, **environment: str) -> str:
    """What the command writes to a terminal of 100 columns."""
    leader, follower = pty.openpty()
    child = subprocess.Popen(
        [sys.executable, "-m", "ccgrep", *arguments],
        env={**home.environment, "TERM": "xterm-256color", "COLUMNS": "100", **environment},
        stdout=follower,
        stderr=follower,
        stdin=subprocess.DEVNULL,
    )
    os.close(follower)
    seen = b""
    try:
        while block := os.read(leader, 65536):
            seen += block
    except OSError:
        pass  # Linux says so when the other side is closed.
    os.close(leader)
    assert child.wait(timeout=60) in ((0, 1) if code is None else (code,))
    return seen.decode().replace("\r\n", "\n")


def test_there_are_enough_of_them_and_the_check_tells_them_apart(
    figure: Callable[[str], None],
) -> None:
    assert (len(ATTACKS) >= 40, len(BENIGN) >= 30) == (True, True)
    assert [name for name, text in ATTACKS.items() if not acting(text, also="")] == []
    assert [text for text in BENIGN if acting(text)] == []
    surfaces = len(SEARCHES) + len(OTHERS) + len(MESSAGES)
    figure(
        f"hostile text: {len(ATTACKS)} attacks on {surfaces} commands, their messages, pages, "
        f"previews, completions and terminals, 0 act; {len(BENIGN)} ordinary texts unchanged"
    )


SEARCHES = {
    "record lines": ("commonword", "-n0"),
    "long lines": ("commonword", "-n0", "--width", "1000"),
    "only matching": ("-oE", "(needle|answer)[0-9]+ .*"),
    "context": ("commonword", "-n0", "-C1"),
    "tool": ("toolword", "-n0", "-ttool"),
    "thinking": ("-F", "thoughtword", "-tthinking"),
    "title": ("-n0", "-e", "title3", "-e", "title4"),
    "session ids": ("-l", "commonword"),
    "counts": ("-c", "commonword"),
    "without": ("-L", "needle0"),
    "without an index": ("-F", "commonword", "--no-index"),
    "JSON": ("commonword", "-n0", "--json", "-ttool", "-tthinking", "-tuser", "-tassistant"),
    "JSON lines": ("commonword", "-n0", "--jsonl"),
}


@pytest.mark.parametrize("name", SEARCHES)
def test_nothing_acts_in_what_a_search_prints(hostile: Home, name: str) -> None:
    done = hostile.run("search", *SEARCHES[name])
    assert (done.returncode, acting(done.stdout), acting(done.stderr)) == (0, [], [])


OTHERS = (
    "list", "list --json", "list --tree", "status -v", "status --json", "index --full -v", "fsck",
    "fsck --json", "gc --json", "blame touched.py", "blame touched.py --json", "settings",
    "settings --json", "model", "stats", "stats --json", "stats tools", "stats tools --json",
    "stats tools --by project", "stats bash", "stats bash --json", "stats bash --suggest",
    "stats bash --suggest --json", "stats tokens", "stats tokens --by project",
    "stats tokens --by model --json", "completions bash", "completions zsh", "completions fish",
)  # fmt: skip


@pytest.mark.parametrize("typed", OTHERS)
def test_nothing_acts_in_what_other_commands_print(hostile: Home, typed: str) -> None:
    done = hostile.run(*typed.split())
    has_tabs = typed.split(maxsplit=1)[0] in ("list", "stats", "completions", "settings")
    also = "\n\t" if has_tabs else "\n"
    assert (done.returncode, acting(done.stdout, also), acting(done.stderr)) == (0, [], [])
    assert done.stdout or done.stderr
    if typed == "list":
        assert [line.count("\t") for line in done.stdout.splitlines()] == [4] * len(ATTACKS)


@pytest.mark.parametrize("form", ["md", "html", "json"])
def test_nothing_acts_in_exported_conversations(hostile: Home, form: str) -> None:
    ids = hostile.run("-l", "commonword", "--full-id").stdout
    done = hostile.run("export", "-", "--format", form, "--tools", "--thinking", input=ids)
    assert (done.returncode, acting(done.stdout, also="\n\t"), done.stderr) == (0, [], "")
    assert all(f"needle{number} " in done.stdout for number in range(len(ATTACKS)))


@pytest.mark.parametrize("typed", ["stats", "stats tools", "stats bash", "stats tokens", "status"])
def test_nothing_acts_in_charts_on_a_terminal(hostile: Home, typed: str) -> None:
    seen = on_terminal(hostile, *typed.split(), "-n0" if typed != "status" else "-v")
    assert acting(re.sub(r"\x1b\[[0-9;]*m|\r.*\x1b\[K", "", seen), also="\n\t") == []


@pytest.mark.parametrize("kind", ["project", "tool", "branch", "model", "session", "ref"])
def test_nothing_acts_in_what_a_shell_completes(
    hostile: Home, command: "Command", kind: str
) -> None:
    refs = [f"{id}:" for id in hostile.rows()] if kind == "ref" else []
    for prefix in ("", "/", "@", *refs):
        code, out, err = command(hostile, "__complete", kind, prefix)
        assert (code, acting(out, "\n\t"), err) == (0, [], "")
        assert {line.count("\t") for line in out.splitlines()} <= {1}


def test_nothing_acts_in_what_fzf_shows(
    hostile: Home, command: "Command", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CCGREP_PICK", str(tmp_path))
    previews = 0
    for query in ("", "commonword", "toolword", "thoughtword", "("):
        code, listed, _ = command(hostile, "__pick", "hits", query)
        lines = COLOUR.sub("", listed).splitlines()[1:]
        assert (code, acting(COLOUR.sub("", listed))) == (0, [])
        for line in lines:
            code, out, err = command(hostile, "__pick", "preview", query, line)
            assert (code, acting(COLOUR.sub("", out), "\n\t"), err) == (0, [], ""), line
            previews += 1
    assert previews > 3 * len(ATTACKS)


ANYWHERE = (
    "--help", "-h", "status", "index -v", "words", "list", "settings", "fsck", "gc", "--here x",
    "show x", "stats", "export x", "blame x", "model", "setup shell", "mcp --help",
)  # fmt: skip


@pytest.mark.parametrize("typed", ANYWHERE)
def test_nothing_acts_when_directories_have_hostile_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: "Command", typed: str
) -> None:
    names = list(ATTACKS)
    for number in scale.some(range(len(names)), 10):
        name, text = names[number], ATTACKS[names[number]]
        given = os.fsdecode(text.replace("\0", " ").encode("utf-8", "surrogatepass"))
        directory = tmp_path / f"{number}{given.replace('/', '|')[:100]}"
        home = Home(directory)
        home.claude().write()
        monkeypatch.chdir(directory)
        code, out, err = command(home, *typed.split())
        assert (code in (0, 1, 2), acting(out, "\n\t"), acting(err, "\n\t")) == (True, [], []), name


@pytest.mark.parametrize("options", [(), ("--tools", "--thinking")], ids=["plain", "everything"])
@pytest.mark.parametrize("form", [(), ("--json",)], ids=["text", "JSON"])
def test_nothing_acts_in_conversations(
    hostile: Home, options: tuple[str, ...], form: tuple[str, ...]
) -> None:
    ids = hostile.run("-l", "commonword", "--full-id").stdout
    done = hostile.run("show", "-", *options, *form, input=ids)
    assert (done.returncode, acting(done.stdout, also="\n\t"), done.stderr) == (0, [], "")
    assert len(ids.splitlines()) == len(ATTACKS)


@pytest.mark.parametrize(
    "arguments",
    [("commonword", "-n0"), ("toolword", "-n0"), ("commonword", "-n0", "-C1"), ("list", "-n0")],
    ids=" ".join,
)
def test_nothing_acts_on_a_terminal(hostile: Home, arguments: tuple[str, ...]) -> None:
    seen = on_terminal(hostile, *arguments)
    assert COLOUR.search(seen) or arguments[0] == "list"
    assert acting(COLOUR.sub("", seen), also="\n\t") == []
    plain = on_terminal(hostile, *arguments, NO_COLOR="1")
    assert acting(plain, also="\n\t") == []


def test_a_hit_is_one_line_whatever_it_holds(hostile: Home) -> None:
    lines = hostile.run("commonword", "-n0").stdout.split("\n")
    assert lines.pop() == ""
    assert [line for line in lines if not RECORD.fullmatch(line)] == []
    assert len(lines) == len(ATTACKS)
    records = hostile.run("commonword", "-n0", "-0").stdout.split("\0")
    assert records == [*lines, ""]


def test_the_first_two_fields_of_a_record_lead_to_its_turn(hostile: Home) -> None:
    lines = hostile.run("commonword", "-n0", "--width", "1000").stdout.splitlines()
    refs = [":".join(line.split(":")[:2]) for line in lines]
    shown = hostile.run("show", "-", "--json", input="\n".join(refs))
    assert (shown.returncode, shown.stderr) == (0, "")
    for line, ref, found in zip(lines, refs, shown.stdout.splitlines(), strict=True):
        said = json.loads(found)["messages"]
        (number,) = {re.match(r"[a-z]+(\d+)", m["content"])[1] for m in said if "content" in m}  # type: ignore[index]
        assert re.search(rf"\D{number} commonword", line), ref


def test_words_beside_hostile_text_are_found_and_json_has_the_text_as_it_was(
    hostile: Home,
) -> None:
    results = hostile.json("commonword", "-n0", "-tuser", "-tassistant", "-ttool")["results"]
    prompts = {result["messages"][0]["content"]: result for result in results}
    for number, (name, text) in enumerate(ATTACKS.items()):
        kept = "".join("\ufffd" if "\ud800" <= char <= "\udfff" else char for char in text)
        assert f"needle{number} commonword {kept} tail{number}" in prompts, name
        result = prompts[f"needle{number} commonword {kept} tail{number}"]
        assert result["project_path"] == f"/home/sam/{kept}/in{number}{kept}", name
        assert result["title"] == f"title{number} {kept} of it", name
    for word in ("needle", "tail", "answer", "end", "second", "inword", "outword", "title"):
        numbers = range(len(ATTACKS)) if word == "needle" else (3, 7, 35, 47)
        for number in numbers:
            assert hits(hostile, f"{word}{number}") == 1, (word, number)


def hits(home: Home, *patterns: str) -> int:
    result = search(home.config, Request(patterns, limit=0), SearchOptions())
    return len(result.answer.hits)


def forged_lines(message: str) -> list[str]:
    """Lines that ccgrep did not begin: it says its name, or lists what could be meant."""
    return [line for line in message.splitlines() if not line.startswith(("ccgrep: ", "  "))]


Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """Runs the command in this process, for the many runs: its code and what it wrote."""

    def run(home: Home, *arguments: str) -> tuple[int, str, str]:
        for name, value in home.environment.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO()))
        code = main(list(arguments))
        return code, *capsys.readouterr()

    return run


MESSAGES = (
    ("-E", "({}"),
    ("-F", "-p", "{}", "x"),
    ("x", "--session", "{}"),
    ("x", "--since", "{}"),
    ("x", "--timeout", "{}"),
    ("x", "-n", "{}"),
    ("x", "--type", "{}"),
    ("x", "--{}"),
    ("show", "{}"),
    ("show", "needle{}"),
    ("resume", "{}"),
    ("fsck", "{}"),
    ("commonword", "nosuchword", "{}"),
    ("list", "--since", "{}"),
    ("list", "--session", "{}"),
    ("export", "{}"),
    ("export", "--format", "{}", "x"),
    ("export", "0", "-o", "/nowhere/{}"),
    ("blame", "{}"),
    ("blame", "-L1", "{}"),
    ("blame", "-L", "{}", "x"),
    ("settings", "{}"),
    ("index", "--root", "/nowhere/{}"),
)


@pytest.mark.parametrize("arguments", MESSAGES, ids=" ".join)
def test_nothing_acts_in_messages_about_what_was_typed(
    hostile: Home, command: Command, arguments: tuple[str, ...]
) -> None:
    for name, text in ATTACKS.items():
        typed = text.replace("\0", " ").encode("utf-8", "surrogatepass")
        given = os.fsdecode(typed)  # as the command line brings what is no UTF-8
        code, out, err = command(hostile, *(word.replace("{}", given) for word in arguments))
        assert (code in (0, 1, 2), acting(out), acting(err, "\n\t")) == (True, [], []), name
        assert forged_lines(err) == [], name


def test_nothing_acts_when_all_of_it_is_typed_at_once(hostile: Home) -> None:
    everything = " ".join(ATTACKS.values()).replace("\0", " ")
    typed = everything.encode("utf-8", "surrogatepass")
    for arguments in ([b"-E", b"(" + typed], [b"-p", typed, b"x"], [typed], [b"-F", typed]):
        done = subprocess.run(
            [sys.executable, "-m", "ccgrep", *map(os.fsdecode, arguments)],
            env=hostile.environment,
            capture_output=True,
            check=False,
            timeout=60,
        )
        assert done.returncode in (0, 1, 2) and b"Traceback" not in done.stderr
        assert acting(done.stdout.decode() + done.stderr.decode()) == []


def test_nothing_acts_in_what_resume_says(hostile: Home, command: Command) -> None:
    for id in hostile.rows():
        code, out, err = command(hostile, "resume", id)
        assert (code, out) == (1, "")  # its directory is not there
        assert (acting(err, "\n\t"), forged_lines(err)) == ([], [])


def test_nothing_acts_in_random_text(home: Home) -> None:
    """Two thousand turns of every kind of character, the odd ones more often."""
    chance = random.Random(1)
    odd = "".join(ATTACKS.values()) + "".join(BENIGN)
    codes = [*range(0x3000), *range(0xFE00, 0x10000), *range(0xE0000, 0xE0200)]
    file = home.claude(1)
    for number in range(2000):
        some = [chr(chance.choice(codes)) for _ in range(chance.randrange(20))]
        some += chance.choices(odd, k=chance.randrange(30))
        chance.shuffle(some)
        file.turn(f"fuzzword {number} {''.join(some)}", "done")
    write(file)
    lines = home.run("fuzzword", "-n0").stdout.split("\n")
    assert (len(lines), lines.pop()) == (2001, "")
    assert [line for line in lines if not RECORD.fullmatch(line)] == []
    assert acting("\n".join(lines)) == []
    assert acting(home.run("show", file.id).stdout, "\n\t") == []


def test_what_is_cut_off_leaves_nothing_that_acts(home: Home, command: Command) -> None:
    file = home.claude(1)
    for number, text in enumerate(BENIGN):
        file.turn(f"cutword {number} {' '.join([text] * 4)}", "done")
    file.write()
    home.index()
    for width in range(12, 60):
        code, out, _ = command(home, "cutword", "-n0", "--no-refresh", "--width", str(width))
        assert (code, acting(out)) == (0, []), width


@pytest.mark.parametrize("text", BENIGN)
def test_ordinary_text_stays_as_it_is(ordinary: Home, text: str) -> None:
    number = BENIGN.index(text)
    surfaces = ordinary_surfaces(ordinary)
    for name in ("record lines", "conversations", "terminal"):
        assert f"needle{number} commonword {text} tail{number}" in surfaces[name], name
    for name in ("JSON", "JSON of a conversation"):
        said = json.dumps(f"answer{number} commonword {text} end{number}", ensure_ascii=False)
        assert said in surfaces[name], name
    assert f"title{number} {text} of it" in surfaces["list"]


_SURFACES: dict[str, str] = {}


def ordinary_surfaces(home: Home) -> dict[str, str]:
    if not _SURFACES:
        ids = home.run("-l", "commonword").stdout
        wide = ("commonword", "-n0", "--width", "500")
        _SURFACES.update(
            {
                "record lines": home.run(*wide, "-tuser").stdout,
                "conversations": home.run("show", "-", input=ids).stdout,
                "terminal": on_terminal(home, "needle*", *wide[:2], NO_COLOR="1"),
                "JSON": home.run(*wide, "--json").stdout,
                "JSON of a conversation": home.run("show", "-", "--json", input=ids).stdout,
                "list": home.run("list").stdout,
            }
        )
    return _SURFACES


# Session ids and directories.

NAMES = (
    "-rf", "--help", "-", "--", ".", "...", "..x", "~", "~root", "*", "$(touch pwned)", "!!", "#",
    "`touch pwned`", "a;touch pwned", "a&&touch pwned", "a|touch pwned", "a b", "a\nb", "a\rb",
    "a\tb", "\x1b[31m", "a:0:1.000:forged", "@0123456", "a\u202eb", "'", '"', "\\", "%s",
    "é" * 60, "x" * 240, "日本語", "\U0001f600", "con", "a" * 61, "a" * 62, "abc", "0123abcd~2",
    "agent-", "agent-\n", "--exec", "-e", "--output=pwned", "..", "x..", "~+", "~sam", "?", "[a]",
    "{a,b}", "$HOME", "${IFS}", "$'\\n'", "a>pwned", "a<b", "a&", "(a)", "!a", "^a^b", "a=b",
    "a'b\"c", "a\\", "a\u2028b", "a\u200bb", "\ufeffa", "a\x7fb", "a\x9bb", "\U000e0041", "a%00b",
    "%2e%2e%2f", "nul", "x" * 63, "0" * 64, "A" * 200, "0123abcd:7", "session", "index", "A=1 b",
)  # fmt: skip


@pytest.fixture
def named(home: Home) -> Home:
    """Sessions whose ids are hostile, in names of files and in records."""
    for number, name in enumerate(NAMES):
        file = home.claude(number + 1, name=name, session_id=name)
        file.turn(f"idword claude{number}", "done")
        write(file)
    for number, name in enumerate((*NAMES, "../x", "/etc/passwd", "../../../../tmp/x")):
        rollout = home.codex(number + 1)
        rollout.meta(id=name)
        rollout.turn(f"idword codex{number}", "done")
        rollout.write()
        typed = {"display": f"idword history{number}", "timestamp": 1_790_000_000_000}
        with (home.projects.parent / "history.jsonl").open("a", encoding="utf-8") as history:
            history.write(json.dumps({**typed, "sessionId": f"h{name}", "project": "/p"}) + "\n")
    return home


def tree(directory: Path) -> Iterator[str]:
    for folder, _, files in os.walk(directory):
        yield from (os.path.join(folder, name) for name in files)


def test_hostile_ids_are_no_paths_options_or_fields(
    named: Home, figure: Callable[[str], None]
) -> None:
    before = sorted(tree(named.directory.parent))
    named.index()
    done = named.run("idword", "-n0", "-p", "/", cwd=named.directory)
    lines = done.stdout.splitlines()
    assert [line for line in lines if not RECORD.fullmatch(line)] == []
    assert len(lines) == 3 * len(NAMES) + 2 * 3
    refs = "\n".join(":".join(line.split(":")[:2]) for line in lines)
    shown = named.run("show", "-", "--json", input=refs)
    assert (shown.returncode, len(shown.stdout.splitlines())) == (0, len(lines))
    for line in lines:
        ref = line.split(":")[0]
        assert not ref.startswith("-")
        assert shlex.split(f"ccgrep show {ref}") == ["ccgrep", "show", ref]
        said = subprocess.run(["bash", "-c", f"printf %s {ref}"], capture_output=True, check=True)
        assert said.stdout.decode() == ref
    outside = [path for path in tree(named.directory.parent) if "/store/" not in path]
    assert sorted(outside) == before
    assert len(lines) >= 200
    figure(f"hostile ids: {len(lines)}, 0 files outside the store, all of them words to bash")


def test_a_sidechain_without_a_uuid_has_an_id_as_any_other(home: Home) -> None:
    file = home.claude(1)
    file.turn("main", "done")
    for role in ("user", "assistant"):
        message = {"role": role, "content": [{"type": "text", "text": "sideword"}]}
        file.add(role, message=message, isSidechain=True, uuid="")
    file.write()
    (line,) = home.run("sideword").stdout.splitlines()
    assert RECORD.fullmatch(line)


def test_the_short_id_of_a_record_is_enough_for_show(home: Home) -> None:
    """Also where a session that has no turns begins with the same characters."""
    file = home.claude(1, name="0123abcd-0000-4000-8000-000000000001")
    file.turn("shortword", "done")
    empty = home.claude(2, name="0123abcd-0000-4000-8000-000000000002")
    empty.meta("summary", summary="nothing was said", leafUuid="x")
    for one in (file, empty):
        one.write()
    (line,) = home.run("shortword").stdout.splitlines()
    shown = home.run("show", ":".join(line.split(":")[:2]))
    assert (shown.returncode, shown.stderr) == (0, "")


def test_resume_names_the_directory_and_runs_nothing_else(
    home: Home, tmp_path: Path, command: Command
) -> None:
    for agent in ("claude", "codex"):
        (tmp_path / agent).write_text('#!/bin/sh\nprintf "%s|" "$PWD" "$@"\n')
        (tmp_path / agent).chmod(0o700)
    names = [name for name in NAMES if name not in (".", "..")]
    for number, name in enumerate(names):
        where = tmp_path / "work" / name[:80]
        where.mkdir(parents=True)
        file = home.claude(number + 1, name=name, session_id=name, cwd=str(where))
        file.turn(f"{number}", "y")
        write(file)
    home.index()
    path = f"{tmp_path}:{os.environ['PATH']}"
    wrong = {}
    for id, row in home.rows().items():
        code, out, err = command(home, "resume", id)
        assert (code, acting(out, "\n\t"), err) == (0, [], "")
        assert subprocess.run(["bash", "-n", "-c", out], check=False).returncode == 0
        bash = ["bash", "-c", out]
        ran = subprocess.run(bash, env={"PATH": path}, capture_output=True, check=False)
        if ran.stdout.decode() != f"{row.session.cwd}|--resume|{id}|":
            wrong[row.session.cwd.rpartition("/")[2]] = out
    assert list(tmp_path.rglob("pwned")) == []
    assert (len(home.rows()), wrong) == (len(names), {})

"""Hostile text is inert in all output. It forges no record and runs nothing.

Ordinary text is printed unchanged.
"""

import io
import json
import os
import random
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ccgrep.cli import main
from ccgrep.ops.marks import mark
from ccgrep.ops.search import search
from ccgrep.search.request import Request
from ccgrep.search.searcher import SearchOptions
from ccgrep.sources.identity import is_hashed_id
from ccgrep.sources.titles import clean_title
from tests.helpers import scale
from tests.helpers.attacks import ATTACKS, BENIGN, acting
from tests.helpers.homes import Home
from tests.helpers.hostile_home import RECORD, write_escaped, write_sessions
from tests.helpers.terminal import COLOR, on_terminal


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Home:
    home = Home(tmp_path_factory.mktemp("hostile") / "home")
    write_sessions(home, list(ATTACKS.values()))
    return home


@pytest.fixture(scope="module")
def ordinary(tmp_path_factory: pytest.TempPathFactory) -> Home:
    home = Home(tmp_path_factory.mktemp("ordinary") / "home")
    write_sessions(home, BENIGN)
    return home


def test_check_tells_attacks_from_ordinary_text(
    figure: Callable[[str], None],
) -> None:
    assert (len(ATTACKS) >= 40, len(BENIGN) >= 30) == (True, True)
    assert [name for name, text in ATTACKS.items() if not acting(text, also="")] == []
    assert [text for text in BENIGN if acting(text)] == []
    surfaces = len(SEARCHES) + len(OTHERS) + len(MESSAGES)
    figure(
        f"hostile text: {len(ATTACKS)} attacks and {len(BENIGN)} ordinary texts for {surfaces} "
        "commands, their messages, pages, previews, completions and terminals"
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
def test_search_output_is_inert(hostile: Home, name: str) -> None:
    done = hostile.run("search", *SEARCHES[name])
    assert (done.returncode, acting(done.stdout), acting(done.stderr)) == (0, [], [])


OTHERS = (
    "list", "list --json", "list --tree", "brief -n0", "brief -n0 --json", "status -v",
    "log", "log --json", "log --format {time}{session}{path}{project}{prompt}{answer}",
    "status --by project", "prune --older-than 1m --dry-run",
    "status --json", "index --full -v", "fsck", "fsck --json", "gc --json", "blame touched.py",
    "blame touched.py --json", "settings", "settings --json", "model", "stats", "stats --json",
    "stats tools", "stats tools --json", "stats tools --by project", "stats bash",
    "stats bash --json", "stats bash --suggest", "stats bash --suggest --json", "stats tokens",
    "stats cost", "stats cost --by session --json", "stats tokens --by project",
    "stats tokens --by model --json", "completions bash", "completions zsh", "completions fish",
)  # fmt: skip


@pytest.mark.parametrize("typed", OTHERS)
def test_output_of_other_commands_is_inert(hostile: Home, typed: str) -> None:
    done = hostile.run(*typed.split())
    has_tabs = typed.split(maxsplit=1)[0] in ("list", "stats", "completions", "settings")
    has_tabs = has_tabs or typed == "status --by project"
    also = "\n\t" if has_tabs else "\n"
    assert (done.returncode, acting(done.stdout, also), acting(done.stderr)) == (0, [], [])
    assert done.stdout or done.stderr
    if typed == "list":
        assert [line.count("\t") for line in done.stdout.splitlines()] == [4] * len(ATTACKS)


def test_notes_of_marks_are_inert(home: Home) -> None:
    write_sessions(home, list(ATTACKS.values()))
    home.index()
    for id, note in zip(home.rows(), ATTACKS.values(), strict=False):
        mark(home.config, [id], [], note)
    for typed in ("mark", "mark --json"):
        done = home.run(*typed.split())
        assert (done.returncode, acting(done.stdout, "\n\t"), done.stderr) == (0, [], "")
    lines = home.run("mark").stdout.splitlines()
    assert [line.count("\t") for line in lines] == [2] * len(ATTACKS)


@pytest.mark.parametrize("form", ["md", "html", "json"])
def test_exported_documents_are_inert(hostile: Home, form: str) -> None:
    ids = hostile.run("-l", "commonword", "--full-id").stdout
    done = hostile.run("export", "-", "--format", form, "--tools", "--thinking", input=ids)
    assert (done.returncode, acting(done.stdout, also="\n\t"), done.stderr) == (0, [], "")
    assert all(f"needle{number} " in done.stdout for number in range(len(ATTACKS)))


@pytest.mark.parametrize(
    "typed", ["stats", "stats cost", "stats tools", "stats bash", "stats tokens", "log", "status"]
)
def test_charts_on_a_terminal_are_inert(hostile: Home, typed: str) -> None:
    seen = on_terminal(hostile, *typed.split(), "-n0" if typed != "status" else "-v")
    assert acting(re.sub(r"\x1b\[[0-9;]*m|\r.*\x1b\[K", "", seen), also="\n\t") == []


@pytest.mark.parametrize("kind", ["project", "tool", "branch", "model", "session", "ref", "mark"])
def test_shell_completions_are_inert(hostile: Home, command: "Command", kind: str) -> None:
    refs = [f"{id}:" for id in hostile.rows()] if kind == "ref" else []
    for prefix in ("", "/", "@", *refs):
        code, out, err = command(hostile, "__complete", kind, prefix)
        assert (code, acting(out, "\n\t"), err) == (0, [], "")
        assert {line.count("\t") for line in out.splitlines()} <= {1}


def test_fzf_lines_and_previews_are_inert(
    hostile: Home, command: "Command", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CCGREP_PICK", str(tmp_path))
    previews = 0
    for query in ("", "commonword", "toolword", "thoughtword", "("):
        code, listed, _ = command(hostile, "__pick", "hits", query)
        lines = COLOR.sub("", listed).splitlines()[1:]
        assert (code, acting(COLOR.sub("", listed), "\n\t")) == (0, [])
        for line in lines:
            assert line.count("\t") == 1  # between the record and the row that fzf shows
            code, out, err = command(hostile, "__pick", "preview", query, line)
            assert (code, acting(COLOR.sub("", out), "\n\t"), err) == (0, [], ""), line
            previews += 1
    assert previews > 3 * len(ATTACKS)


ANYWHERE = (
    "--help", "-h", "status", "index -v", "words", "list", "settings", "fsck", "gc", "--here x",
    "show x", "stats", "export x", "blame x", "model", "setup shell", "mcp --help",
)  # fmt: skip


@pytest.mark.parametrize("typed", ANYWHERE)
def test_output_is_inert_if_directories_have_hostile_names(
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
def test_shown_conversations_are_inert(
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
def test_terminal_output_is_inert(hostile: Home, arguments: tuple[str, ...]) -> None:
    seen = on_terminal(hostile, *arguments)
    assert COLOR.search(seen) or arguments[0] == "list"
    assert acting(COLOR.sub("", seen), also="\n\t") == []
    plain = on_terminal(hostile, *arguments, NO_COLOR="1")
    assert acting(plain, also="\n\t") == []


def test_hit_is_one_line_whatever_its_text(hostile: Home) -> None:
    lines = hostile.run("commonword", "-n0").stdout.split("\n")
    assert lines.pop() == ""
    assert [line for line in lines if not RECORD.fullmatch(line)] == []
    assert len(lines) == len(ATTACKS)
    records = hostile.run("commonword", "-n0", "-0").stdout.split("\0")
    assert records == [*lines, ""]


def test_first_two_fields_of_a_record_are_the_ref_of_its_turn(hostile: Home) -> None:
    lines = hostile.run("commonword", "-n0", "--width", "1000").stdout.splitlines()
    refs = [":".join(line.split(":")[:2]) for line in lines]
    shown = hostile.run("show", "-", "--json", input="\n".join(refs))
    assert (shown.returncode, shown.stderr) == (0, "")
    for line, ref, found in zip(lines, refs, shown.stdout.splitlines(), strict=True):
        messages = json.loads(found)["messages"]
        (number,) = {re.match(r"[a-z]+(\d+)", m["content"])[1] for m in messages if "content" in m}  # type: ignore[index]
        assert re.search(rf"\D{number} commonword", line), ref


def test_words_next_to_hostile_text_match_and_json_keeps_the_text(
    hostile: Home,
) -> None:
    results = hostile.json("commonword", "-n0", "-tuser", "-tassistant", "-ttool")["results"]
    prompts = {result["messages"][0]["content"]: result for result in results}
    for number, (name, text) in enumerate(ATTACKS.items()):
        kept = "".join("\ufffd" if "\ud800" <= char <= "\udfff" else char for char in text)
        assert f"needle{number} commonword {kept} tail{number}" in prompts, name
        result = prompts[f"needle{number} commonword {kept} tail{number}"]
        assert result["project_path"] == f"/home/sam/{kept}/in{number}{kept}", name
        assert result["title"] == clean_title(f"title{number} {kept} of it"), name
    for word in ("needle", "tail", "answer", "end", "second", "inword", "outword", "title"):
        numbers = range(len(ATTACKS)) if word == "needle" else (3, 7, 35, 47)
        for number in numbers:
            assert count_hits(hostile, f"{word}{number}") == 1, (word, number)


def count_hits(home: Home, *patterns: str) -> int:
    result = search(home.config, Request(patterns, limit=0), SearchOptions())
    return len(result.answer.hits)


def forged_lines(message: str) -> list[str]:
    """Return lines that do not start like a message of ccgrep or an indented candidate."""
    return [line for line in message.splitlines() if not line.startswith(("ccgrep: ", "  "))]


Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """Return a function that runs ccgrep in this process, because there are many runs."""

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
def test_messages_about_arguments_are_inert(
    hostile: Home, command: Command, arguments: tuple[str, ...]
) -> None:
    step = scale.of(6, 1)  # Other attacks for the next message.
    for name, text in list(ATTACKS.items())[MESSAGES.index(arguments) % step :: step]:
        typed = text.replace("\0", " ").encode("utf-8", "surrogatepass")
        given = os.fsdecode(typed)  # as Python decodes arguments that are not UTF-8
        code, out, err = command(hostile, *(word.replace("{}", given) for word in arguments))
        assert (code in (0, 1, 2), acting(out), acting(err, "\n\t")) == (True, [], []), name
        assert forged_lines(err) == [], name


def test_messages_are_inert_for_all_attacks_in_one_argument(hostile: Home) -> None:
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


def test_messages_of_resume_are_inert(hostile: Home, command: Command) -> None:
    for id in list(hostile.rows())[:: scale.of(4, 1)]:
        code, out, err = command(hostile, "resume", id)
        assert (code, out) == (1, "")  # its directory does not exist
        assert (acting(err, "\n\t"), forged_lines(err)) == ([], [])


def test_random_text_is_inert(home: Home) -> None:
    """Two thousand turns with all kinds of characters, mostly unusual ones."""
    chance = random.Random(1)
    odd = "".join(ATTACKS.values()) + "".join(BENIGN)
    codes = [*range(0x3000), *range(0xFE00, 0x10000), *range(0xE0000, 0xE0200)]
    file = home.claude(1)
    for number in range(2000):
        some = [chr(chance.choice(codes)) for _ in range(chance.randrange(20))]
        some += chance.choices(odd, k=chance.randrange(30))
        chance.shuffle(some)
        file.turn(f"fuzzword {number} {''.join(some)}", "done")
    write_escaped(file)
    lines = home.run("fuzzword", "-n0").stdout.split("\n")
    assert (len(lines), lines.pop()) == (2001, "")
    assert [line for line in lines if not RECORD.fullmatch(line)] == []
    assert acting("\n".join(lines)) == []
    assert acting(home.run("show", file.id).stdout, "\n\t") == []


def test_text_is_inert_wherever_it_is_cut(home: Home, command: Command) -> None:
    file = home.claude(1)
    for number, text in enumerate(BENIGN):
        file.turn(f"cutword {number} {' '.join([text] * 4)}", "done")
    file.write()
    home.index()
    for width in range(12, 60):
        code, out, _ = command(home, "cutword", "-n0", "--no-refresh", "--width", str(width))
        assert (code, acting(out)) == (0, []), width


@pytest.mark.parametrize("text", BENIGN)
def test_ordinary_text_is_printed_unchanged(ordinary: Home, text: str) -> None:
    number = BENIGN.index(text)
    surfaces = ordinary_surfaces(ordinary)
    for name in ("record lines", "conversations", "terminal"):
        assert f"needle{number} commonword {text} tail{number}" in surfaces[name], name
    for name in ("JSON", "JSON of a conversation"):
        message = json.dumps(f"answer{number} commonword {text} end{number}", ensure_ascii=False)
        assert message in surfaces[name], name
    assert clean_title(f"title{number} {text} of it") in surfaces["list"]


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
                "JSON": home.run(*wide[:2], "--json").stdout,
                "JSON of a conversation": home.run("show", "-", "--json", input=ids).stdout,
                "list": home.run("list").stdout,
            }
        )
    return _SURFACES


# Session ids and directories

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
    """Return a home with hostile session ids, in file names and in records."""
    for number, name in enumerate(NAMES):
        file = home.claude(number + 1, name=name, session_id=name)
        file.turn(f"idword claude{number}", "done")
        write_escaped(file)
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


def test_hostile_ids_are_never_paths_options_or_fields(
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
        echo = subprocess.run(["bash", "-c", f"printf %s {ref}"], capture_output=True, check=True)
        assert echo.stdout.decode() == ref
    outside = [path for path in tree(named.directory.parent) if "/store/" not in path]
    assert sorted(outside) == before
    assert len(lines) >= 200
    new = len(outside) - len(before)
    figure(f"hostile ids: {len(lines)}, {new} new files outside the store, all words to bash")


def test_sidechain_without_a_uuid_has_a_valid_id(home: Home) -> None:
    file = home.claude(1)
    file.turn("main", "done")
    for role in ("user", "assistant"):
        message = {"role": role, "content": [{"type": "text", "text": "sideword"}]}
        file.add(role, message=message, isSidechain=True, uuid="")
    file.write()
    (line,) = home.run("sideword").stdout.splitlines()
    assert RECORD.fullmatch(line)


def test_short_id_of_a_record_is_unique_for_show(home: Home) -> None:
    """Even if a session without turns starts with the same characters."""
    file = home.claude(1, name="0123abcd-0000-4000-8000-000000000001")
    file.turn("shortword", "done")
    empty = home.claude(2, name="0123abcd-0000-4000-8000-000000000002")
    empty.meta("summary", summary="nothing was said", leafUuid="x")
    for session in (file, empty):
        session.write()
    (line,) = home.run("shortword").stdout.splitlines()
    shown = home.run("show", ":".join(line.split(":")[:2]))
    assert (shown.returncode, shown.stderr) == (0, "")


def test_resume_prints_a_command_that_only_changes_directory_and_resumes(
    home: Home, tmp_path: Path, command: Command
) -> None:
    for agent in ("claude", "codex"):
        (tmp_path / agent).write_text('#!/bin/sh\nprintf "%s|" "$PWD" "$@"\n')
        (tmp_path / agent).chmod(0o700)
    names = [name for name in NAMES if name not in (".", "..")][:: scale.of(3, 1)]
    for number, name in enumerate(names):
        where = tmp_path / "work" / name[:80]
        where.mkdir(parents=True)
        file = home.claude(number + 1, name=name, session_id=name, cwd=str(where))
        file.turn(f"{number}", "y")
        write_escaped(file)
    home.index()
    path = f"{tmp_path}:{os.environ['PATH']}"
    wrong = {}
    for id, row in home.rows().items():
        code, out, err = command(home, "resume", id)
        if is_hashed_id(id):
            assert (code, out, "ccgrep made up this id" in err) == (1, "", True)
            continue
        assert (code, acting(out, "\n\t"), err) == (0, [], "")
        assert subprocess.run(["bash", "-n", "-c", out], check=False).returncode == 0
        bash = ["bash", "-c", out]
        ran = subprocess.run(bash, env={"PATH": path}, capture_output=True, check=False)
        if ran.stdout.decode() != f"{row.session.cwd}|--resume|{id}|":
            wrong[row.session.cwd.rpartition("/")[2]] = out
    assert list(tmp_path.rglob("pwned")) == []
    assert (len(home.rows()), wrong) == (len(names), {})

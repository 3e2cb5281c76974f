"""Aider's history of a project."""

from pathlib import Path

import pytest

from ccgrep.model import Message, Note, Text, ToolCall
from tests.helpers.agent_files import assert_grows_as_fresh, assert_survives_damage, read
from tests.helpers.homes import Home, assert_same_as_fresh

# The client ends what the user typed and what it prints with two spaces: ␠␠
GREETING = """
# aider chat started at 2026-01-31 10:00:00

> /home/sam/.local/bin/aider --model made-up-model␠␠
> Aider v0.86.1␠␠
> Main model: made-up-model with diff edit format␠␠
> Git repo: .git with 12 files␠␠

"""
LAMP = """#### look at␠␠
#### ␠␠
#### the lamp␠␠

I will paint it.

#### The block

> a quotation

lamp.py
```python
<<<<<<< SEARCH
dark
=======
bright
>>>>>>> REPLACE
```

> Tokens: 2.4k sent, 1.5k cache hit, 1M cache write, 9 received. Cost: $0.25 message, $1 session.␠␠
> Applied edit to lamp.py␠␠
> Commit 1b2614a feat: paint the lamp␠␠

"""
ASK = """#### /ask why is it dark?␠␠

#### why is it dark?␠␠

It is night.

> Tokens: 5,244 sent, 604 received. Cost: $0.5 request, $0.75 session.␠␠

"""
AGAIN = """
# aider chat started at 2026-02-01 10:00:00

> Aider v0.86.2␠␠
> Models: other-model with whole edit format, weak model small␠␠

#### /add lamp.py␠␠
> Added lamp.py to the chat␠␠

#### # Fix any errors below, if possible.␠␠
#### ␠␠
#### ## Running: flake8␠␠

Fixed.

"""


def encode(*texts: str) -> bytes:
    return "".join(texts).replace("␠", " ").encode()


HISTORY = encode(GREETING, LAMP, ASK, AGAIN)


@pytest.fixture
def project(home: Home) -> Path:
    path = home.directory / "src" / "shop"
    path.mkdir(parents=True)
    settings = home.directory / ".config" / "ccgrep" / "config.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text(f'roots = ["{path}"]\n')
    (path / ".aider.input.history").touch()
    return path


def write(project: Path, text: bytes) -> Path:
    path = project / ".aider.chat.history.md"
    path.write_bytes(text)
    return path


def only_id(home: Home) -> str:
    (id,) = home.rows()
    return id


def test_history_is_read_whole(home: Home, project: Path) -> None:
    write(project, HISTORY)
    home.index()
    id = only_id(home)
    session = home.rows()[id].session
    assert (session.source, session.cwd, session.title) == ("aider", str(project), "look at")
    assert session.models == ("made-up-model", "other-model")
    assert session.versions == ("0.86.1", "0.86.2")
    assert (session.input_tokens, session.output_tokens, session.cost_usd) == (7644, 613, 0.75)
    assert home.prompts(id) == ["look at\n\nthe lamp", "/ask why is it dark?", "/add lamp.py"]
    first, second, third = home.turns(id)
    answer, printed, edit = first.steps
    assert isinstance(answer, Message) and isinstance(answer.parts[0], Text)
    assert answer.parts[0].text.startswith("I will paint it.\n\n#### The block\n\n> a quotation")
    assert isinstance(printed, Note) and printed.text.endswith("feat: paint the lamp")
    assert edit == Message((ToolCall("apply_edit", {"path": "lamp.py"}),), "made-up-model")
    (usage,) = home.manifest(id).entries[0].usage
    assert (usage.cache_read, usage.cache_write) == (1500, 1_000_000)
    assert second.assistant_texts() == ["It is night."]
    assert third.steps[0] == Note("command", "Added lamp.py to the chat")
    assert isinstance(third.steps[1], Note) and third.steps[1].kind == "notification"
    assert third.assistant_texts() == ["Fixed."]
    started = [entry.started for entry in home.manifest(id).entries]
    assert started[0] == started[1] and (started[2] or 0) > (started[1] or 0)


def test_growing_history_is_read_as_a_fresh_one() -> None:
    assert_grows_as_fresh("aider", "/p/.aider.chat.history.md", HISTORY)


def test_no_damage_makes_the_reader_fail() -> None:
    assert_survives_damage("aider", "/p/.aider.chat.history.md", HISTORY)


def test_bytes_are_archived_and_restored(home: Home, project: Path) -> None:
    write(project, HISTORY)
    home.index()
    path = write(project, HISTORY + encode(ASK))
    home.index()
    path.unlink()
    done = home.run("restore", only_id(home))
    assert done.returncode == 0, done.stderr
    assert path.read_bytes() == HISTORY + encode(ASK)
    assert_same_as_fresh(home)


def test_greeting_of_a_run_belongs_to_no_turn(home: Home, project: Path) -> None:
    write(project, encode(GREETING, LAMP, GREETING))
    home.index()
    (turn,) = home.turns(only_id(home))
    assert not any(isinstance(s, Note) and "Git repo" in s.text for s in turn.steps)


def test_empty_prompt_begins_no_turn(home: Home, project: Path) -> None:
    write(project, encode(GREETING, "\n#### <blank>␠␠\n\n", LAMP))
    home.index()
    id = only_id(home)
    assert home.prompts(id) == ["look at\n\nthe lamp"]
    assert home.rows()[id].session.title == "look at"


def test_line_that_is_not_complete_waits() -> None:
    whole = read("aider", "/p/.aider.chat.history.md", encode(GREETING, LAMP))
    part = encode(GREETING, LAMP, "#### half a pro")
    assert read("aider", "/p/.aider.chat.history.md", part).end == whole.end


def test_history_in_the_project_of_another_agent_is_found(home: Home) -> None:
    shop = home.directory / "src" / "shop"
    shop.mkdir(parents=True)
    claude = home.claude(cwd=str(shop))
    claude.turn("hello", "hi")
    claude.write()
    path = write(shop, HISTORY)
    report = home.index()
    assert (report.files_parsed, report.new_sessions) == (2, 2)
    (id,) = [id for id, row in home.rows().items() if row.session.source == "aider"]
    assert len(home.prompts(id)) == 3
    assert f" 1 session  Aider: {shop}\n" in home.run("sources").stdout
    path.write_bytes(HISTORY + encode(LAMP))
    assert home.run("-c", "lamp", "--source", "aider").stdout.endswith(":3\n")
    assert len(home.prompts(id)) == 4, "a search notices that the history grew"
    assert_same_as_fresh(home)
    path.unlink()
    home.index()
    assert home.rows()[id].is_gone
    assert home.run("index", "--recreate").returncode == 0
    assert len(home.prompts(id)) == 4


def test_history_that_appears_in_a_known_project_is_found_by_the_next_scan(home: Home) -> None:
    shop = home.directory / "src" / "shop"
    shop.mkdir(parents=True)
    for number in (1, 2):
        claude = home.claude(number, cwd=str(shop))
        claude.turn("hello", "hi")
        claude.write()
        home.index()
        write(shop, HISTORY)
    assert [row.session.source for row in home.rows().values()].count("aider") == 1


def test_only_named_directories_are_read_with_an_option(home: Home) -> None:
    shop = home.directory / "src" / "shop"
    shop.mkdir(parents=True)
    claude = home.claude(cwd=str(shop))
    claude.turn("hello", "hi")
    claude.write()
    write(shop, HISTORY)
    assert home.run("index", "--root", str(home.directory / ".claude")).returncode == 0
    assert {row.session.source for row in home.rows().values()} == {"claude_code"}

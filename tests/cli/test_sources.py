"""`ccgrep sources`: every agent, and what is here of it."""

import json

from ccgrep.sources.registry import SOURCES
from tests.helpers.homes import Home


def test_sources_lists_every_agent_and_counts_its_sessions(home: Home) -> None:
    file = home.claude()
    file.turn("hello", "there")
    file.write()
    home.index()
    done = home.run("sources")
    assert (done.returncode, done.stderr) == (0, "")
    first, second, third, *_ = done.stdout.splitlines()
    root = home.directory / ".claude"
    assert first.split() == ["claude-code", "1", "session", "Claude", "Code:", str(root)]
    assert second.split() == ["JSON", "lines"]
    assert third.split() == ["codex", "0", "sessions", "Codex:", str(home.directory / ".codex")]
    assert "Gemini CLI: not on this machine" in done.stdout
    assert "ChatGPT: nothing imported" in done.stdout
    fields = json.loads(home.run("sources", "--json").stdout)
    assert fields["schema"] == 1 and fields["problems"] == []
    assert [one["name"] for one in fields["sources"]] == [source.name for source in SOURCES]
    assert fields["sources"][0]["roots"] == [str(root)]
    assert fields["sources"][0]["turns"] == 1


def test_agents_that_are_here_come_first(home: Home) -> None:
    (home.directory / ".qwen" / "projects").mkdir(parents=True)
    lines = home.run("sources").stdout.splitlines()[::2]
    here = [line.split()[0] for line in lines if str(home.directory) in line]
    assert "qwen" in here and [line.split()[0] for line in lines][: len(here)] == here


def test_sources_needs_no_store(home: Home) -> None:
    done = home.run("sources")
    assert done.returncode == 0 and not home.store_dir.exists()

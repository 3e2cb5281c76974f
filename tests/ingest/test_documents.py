"""Project memory and plans: searchable documents of their project."""

from pathlib import Path

import pytest

from tests.helpers.homes import Home, assert_same_as_fresh
from tests.helpers.transcripts import ClaudeFile

MEMORY = "# Walrus conventions\n\nTabs, never spaces, says the walrus.\n"
PLAN = "## Plan: sort the walrus list\n\n1. Use heapsort.\n"


@pytest.fixture
def shop(home: Home) -> Home:
    """Return a home with a session, the memory of its project and its plan."""
    file = home.claude()
    file.prompt("sort the walrus list", slug="bold-plan")
    file.answer("Sorted with quicksort.")
    file.write()
    write(memory(home), MEMORY)
    write(plan(home), PLAN)
    home.index()
    return home


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def memory(home: Home) -> Path:
    return home.projects / "-home-sam-src-shop" / "memory" / "MEMORY.md"


def plan(home: Home) -> Path:
    return home.projects.parent / "plans" / "bold-plan.md"


def documents(home: Home) -> dict[str, str]:
    """Return the ids of the documents by title."""
    return {
        row.session.title: row.session.id
        for row in home.rows().values()
        if row.session.kind == "document"
    }


def found(home: Home, *arguments: str) -> list[str]:
    return home.run(*arguments).stdout.splitlines()


def test_issue_22_12_memory_and_plans_are_documents_of_their_project(shop: Home) -> None:
    titles = documents(shop)
    assert titles.keys() == {"Walrus conventions", "Plan: sort the walrus list"}
    for id in titles.values():
        assert id.startswith("doc-") and len(id) == 16
        session = shop.rows()[id].session
        assert (session.project, session.turns) == ("/home/sam/src/shop", 1)
    assert len(found(shop, "-F", "heapsort", "-p", "src/shop")) == 1
    assert len(found(shop, "heapsort")) == len(found(shop, "tabs", "spaces")) == 1
    assert_same_as_fresh(shop)


@pytest.mark.parametrize("mode", [[], ["-F"]])
def test_issue_22_12_documents_rank_below_sessions(shop: Home, mode: list[str]) -> None:
    lines = found(shop, *mode, "walrus")
    ids = set(documents(shop).values())
    short = {id[:8] for id in ids}
    assert [line.partition(":")[0] in short for line in lines] == [False, True, True]
    assert len(found(shop, *mode, "walrus", "--documents", "exclude")) == 1
    assert len(found(shop, *mode, "walrus", "--documents", "only")) == 2
    assert len(found(shop, "-F", "walrus", "--no-index", "--documents", "only")) == 2


def test_issue_22_12_show_prints_the_document(shop: Home) -> None:
    id = documents(shop)["Walrus conventions"]
    text = shop.run("show", id).stdout
    assert f"Document {id} (claude_code)\nTitle: Walrus conventions\n" in text
    heading, _, rest = MEMORY.partition("\n\n")
    assert text.endswith(f"assistant: {heading}\n\n    {rest}")


def test_issue_22_12_documents_are_no_sessions(shop: Home) -> None:
    assert len(found(shop, "list")) == 1
    assert len(found(shop, "list", "--documents", "include")) == 3
    (line, _) = found(shop, "list", "--documents", "only", "-p", "shop")
    assert line.split("\t")[2:4] == ["shop", "1"] and "\t(document) " in line
    assert shop.json("stats")["sessions"] == 1
    assert shop.json("status")["sessions"] == 1
    id = documents(shop)["Walrus conventions"]
    done = shop.run("resume", id)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"ccgrep: {id} is a document, not a session: run `ccgrep show {id}`\n"


def test_issue_22_12_deleted_documents_stay(shop: Home) -> None:
    memory(shop).unlink()
    plan(shop).unlink()
    assert len(found(shop, "heapsort")) == len(found(shop, "tabs", "spaces")) == 1
    id = documents(shop)["Walrus conventions"]
    assert shop.rows()[id].is_gone
    assert "The document was deleted: this is ccgrep's copy." in shop.run("show", id).stdout


def test_issue_22_12_rewritten_document_replaces_its_text(shop: Home) -> None:
    write(memory(shop), "# Walrus conventions\n\nFour blanks.\n")
    assert (len(found(shop, "blanks")), len(found(shop, "tabs"))) == (1, 0)
    assert len(shop.rows()) == 3
    write(memory(shop), "")
    assert len(found(shop, "blanks")) == 1
    write(memory(shop).with_name("topic.md"), "no heading, but a numbat")
    assert len(found(shop, "numbat")) == 1
    assert "no heading, but a numbat" in documents(shop)


def test_issue_22_12_new_memory_and_plans_are_noticed(home: Home) -> None:
    file = home.claude()
    file.turn("sort the walrus list", "Sorted.")
    file.write()
    home.rest()
    assert found(home, "heapsort") == []
    write(plan(home), PLAN)
    assert len(found(home, "heapsort")) == 1
    write(memory(home), MEMORY)
    assert len(found(home, "tabs")) == 1
    assert_same_as_fresh(home)


def test_issue_22_12_project_of_a_document_follows_from_a_later_session(home: Home) -> None:
    write(memory(home), MEMORY)
    write(plan(home), PLAN)
    home.index()
    projects = {row.session.project for row in home.rows().values()}
    assert projects == {"-home-sam-src-shop", ""}
    file = home.claude()
    file.prompt("sort the list", slug="bold-plan")
    file.write()
    home.index()
    assert {row.session.project for row in home.rows().values()} == {"/home/sam/src/shop"}
    write(memory(home), "# Changed")
    home.index()
    assert {row.session.project for row in home.rows().values()} == {"/home/sam/src/shop"}
    assert_same_as_fresh(home)


@pytest.mark.parametrize("pattern", ["/home/sam/src/shop", "shop", "/home/*/shop", "/home/sam"])
def test_issue_22_12_documents_of_excluded_projects_are_not_read(home: Home, pattern: str) -> None:
    file = home.claude()
    file.prompt("sort the walrus list", slug="bold-plan")
    file.write()
    write(memory(home), MEMORY)
    write(plan(home), PLAN)
    other = ClaudeFile(home.projects / "-opt-zoo", 2, cwd="/opt/zoo")
    other.turn("feed the numbat", "Done.")
    other.write()
    write(home.projects / "-opt-zoo" / "memory" / "MEMORY.md", "# Zoo")
    assert home.run("index", env={"CCGREP_EXCLUDE": pattern}).returncode == 0
    assert {row.session.project for row in home.rows().values()} == {"/opt/zoo"}
    assert list(documents(home)) == ["Zoo"]


def test_issue_22_12_forgotten_document_is_not_read_again(shop: Home) -> None:
    id = documents(shop)["Walrus conventions"]
    assert shop.run("forget", id).returncode == 0
    shop.index(is_full=True)
    assert list(documents(shop)) == ["Plan: sort the walrus list"]


def test_issue_22_12_only_markdown_in_the_memory_of_a_project_is_read(shop: Home) -> None:
    folder = memory(shop).parent
    write(folder / "notes.txt", "quokka")
    write(folder / "deep" / "notes.md", "quokka")
    write(folder.parent / "0123" / "memory" / "notes.md", "quokka")
    (folder / "link.md").symlink_to(folder / "notes.txt")
    (folder / "large.md").write_bytes(b"quokka " * 1_000_000)
    assert found(shop, "quokka") == []


def test_issue_22_12_older_versions_refuse_a_store_with_documents(shop: Home) -> None:
    format = (shop.store_dir / "FORMAT").read_text()
    assert format == "ccgrep store\nformat 1\nfeatures documents originals\n"

"""`ccgrep mcp -R` and `ccgrep stats -R` answer from a team's server."""

from typing import Any

from tests.helpers.homes import Home
from tests.helpers.mcp_client import ServerClient, run_with_server
from tests.helpers.team_server import Team


def test_tools_answer_as_for_a_store(team: Team, pushing: Home) -> None:
    pushing.run("push", "team")
    pages: list[dict[str, Any]] = []

    async def ask(server: ServerClient) -> None:
        found = await server.call("search_conversations", query="answer", mode="lexical")
        listed = await server.call("list_conversations")
        id = found["results"][0]["session_id"]
        pages.extend(
            [
                found,
                listed,
                await server.call("read_turn", session_id=id, turn_number=1),
                await server.call("read_turn", session_id=id, turn_number=99),
                await server.call("read_conversation", session_id=id[:8], limit=2),
                await server.call("read_turn", session_id="ffffffff", turn_number=0),
                await server.call("search_conversations", query="nothinglikethis"),
            ]
        )

    run_with_server(pushing, ask, "-R", "team")
    there = [*pages]
    pages.clear()
    run_with_server(pushing, ask)
    assert [without_scores(page) for page in there] == [without_scores(page) for page in pages]
    team.revoke("bob")
    run_with_server(pushing, expect_refusal, "-R", "team")


async def expect_refusal(server: ServerClient) -> None:
    reply = await server.call("search_conversations", query="answer")
    assert "ccgrep team grant" in reply["error"]


def without_scores(page: dict[str, Any]) -> dict[str, Any]:
    """Return a reply without last digits: Tantivy computes with 32 bits."""
    results = [{**one, "score": round(one["score"], 2)} for one in page.get("results", ())]
    return {**page, "results": results, "notes": bool(page.get("notes"))}


def test_globs_of_directories_are_refused(pushing: Home) -> None:
    done = pushing.run("mcp", "-R", "team", "-home-*")
    assert done.returncode == 2
    assert "-R and GLOB cannot be combined" in done.stderr


def test_stats_count_what_a_store_counts(team: Team, pushing: Home) -> None:
    fork = pushing.claude(9, cwd="/src/forked")
    fork.turn("answer 1 1", "the same")
    fork.write()
    pushing.index()
    pushing.run("push", "team")
    ours, theirs = pushing.json("stats", "-R", "team"), pushing.json("stats")
    for name in ("sessions", "turns", "copies", "first_turn", "last_turn"):
        assert ours[name] == theirs[name]
    for kind in ("source", "project"):
        assert counts(ours, kind) == counts(theirs, kind)
    assert ours["owners"] == [{"owner": "bob", "sessions": 3, "turns": ours["turns"]}]
    assert sum(one["turns"] for one in ours["days"]) == ours["turns"]
    done = pushing.run("stats", "-R", "team", "-p", "forked")
    assert done.stdout.splitlines()[0] == "total\t-\t1\t1"
    assert "neither calls nor tokens" in done.stderr
    assert pushing.json("stats", "-R", "team", "--owner", "eve")["turns"] == 0
    assert pushing.run("stats", "tokens", "-R", "team").returncode == 2
    assert pushing.run("stats", "--owner", "bob").returncode == 2
    eve = team.grant("eve", "other")
    assert eve.call("stats", {"filters": {}})[0]["turns"] == 0


def counts(report: dict[str, Any], kind: str) -> set[tuple[str, int, int]]:
    return {(one[kind], one["sessions"], one["turns"]) for one in report[f"{kind}s"]}

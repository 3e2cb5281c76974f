"""The tools give the answers of the command line, in the documented form."""

import json
from typing import Any

import pytest

from tests.helpers.homes import Home
from tests.helpers.mcp_client import ServerClient, run_with_server


@pytest.fixture
def shop(home: Home) -> Home:
    """Return a home with two projects of Claude Code and one of Codex, indexed."""
    cart = home.claude(1)
    cart.meta("ai-title", aiTitle="Rounding in the cart")
    cart.turn("why is the cart total wrong", "rounding of the zebra tax", "make test", "1 failed")
    cart.prompt("fix it then")
    cart.blocks({"type": "thinking", "thinking": "the okapi is to blame"})
    for name, fields in (
        ("Read", {"file_path": "/src/cart.py"}),
        ("Write", {"file_path": "/src/tax.py", "content": "x" * 1234}),
        ("Edit", {"file_path": "/src/cart.py", "old_string": "a", "new_string": "b"}),
        ("Bash", {"command": "z" * 300}),
        ("Grep", {"pattern": "tax"}),
        ("Glob", {"pattern": "*.py"}),
        ("Task", {"subagent_type": "Explore", "description": "look around", "prompt": "…"}),
        ("WebFetch", {"url": "http://example.org"}),
    ):
        cart.result(cart.call(name, fields), "ok")
    cart.answer("the zebra tax is rounded half up now")
    cart.write()
    api = home.claude(2, slug="-home-sam-src-api", cwd="/home/sam/src/api")
    api.turn("zebra endpoint", "returns stripes")
    api.write()
    codex = home.codex(3, cwd="/home/sam/src/ops")
    codex.meta()
    codex.turn("deploy the zebra", "deployed", "make deploy", "done")
    codex.write()
    home.rest()
    home.index()
    return home


SEARCHES: list[tuple[dict[str, Any], list[str]]] = [
    ({"query": "zebra"}, ["zebra"]),
    ({"query": "zebra tax rounding"}, ["zebra tax rounding"]),
    ({"query": "zebra", "limit": 1}, ["zebra", "-n", "1"]),
    ({"query": "zebra", "project": "api"}, ["zebra", "-p", "api"]),
    ({"query": "zebra", "source": "codex"}, ["zebra", "--source", "codex"]),
    ({"query": "zebra", "source": "claude-code"}, ["zebra", "--source", "claude-code"]),
    ({"query": "zebra", "tool": "Bash"}, ["zebra", "--tool", "Bash"]),
    ({"query": "failed", "type": "tool"}, ["failed", "-t", "tool"]),
    ({"query": "zebra", "type": ["user", "thinking"]}, ["zebra", "-t", "user", "-t", "thinking"]),
    ({"query": "okapi", "type": ["thinking"]}, ["okapi", "-t", "thinking"]),
    ({"query": "zebra", "since": "2026-09-22"}, ["zebra", "--since", "2026-09-22"]),
    ({"query": "no such words anywhere"}, ["no such words anywhere"]),
    ({"query": "zebra", "project": "nowhere"}, ["zebra", "-p", "nowhere"]),
]


def test_search_finds_what_the_command_line_finds(shop: Home) -> None:
    async def work(server: ServerClient) -> list[list[tuple[Any, ...]]]:
        answers = []
        for arguments, _ in SEARCHES:
            reply = await server.call("search_conversations", **arguments)
            answers.append(
                [
                    (r["session_id"], r["turn_number"], r["score"], r["project"], r["timestamp"])
                    for r in reply["results"]
                ]
            )
        return answers

    expected = []
    for _, words in SEARCHES:
        done = shop.run("search", *words, "--jsonl")
        assert done.returncode in (0, 1)
        results = [json.loads(line) for line in done.stdout.splitlines()]
        expected.append(
            [
                (r["session_id"], r["turn"], r["score"], r["project"], r["timestamp"])
                for r in results
            ]
        )
    assert run_with_server(shop, work) == expected
    assert sum(map(bool, expected)) == len(SEARCHES) - 2


def test_hit_has_the_documented_fields(shop: Home) -> None:
    found = run_with_server(
        shop, lambda server: server.call("search_conversations", query="stripes")
    )
    api = shop.claude(2, slug="-home-sam-src-api").session_id
    assert found == {
        "results": [
            {
                "session_id": api,
                "project": "api",
                "turn_number": 0,
                "score": 1.0,
                "snippet": "returns stripes",
                "timestamp": found["results"][0]["timestamp"],
            }
        ],
        "tier": "all",
    }


def test_list_equals_the_list_of_the_command_line(shop: Home) -> None:
    async def work(server: ServerClient) -> list[dict[str, Any]]:
        return [
            await server.call("list_conversations"),
            await server.call("list_conversations", project="api"),
            await server.call("list_conversations", limit=1),
            await server.call("list_conversations", source="codex"),
        ]

    whole, api, first, codex = run_with_server(shop, work)
    expected = [
        {
            "session_id": session["id"],
            "kind": session["kind"],
            "parent": session["parent"],
            "subagent_count": session["subagent_count"],
            "project": session["project"].rpartition("/")[2],
            "summary": session["title"],
            "slug": session["slug"],
            "first_timestamp": session["started_at"],
            "last_timestamp": session["ended_at"],
            "turn_count": session["turn_count"],
            "cwd": session["cwd"],
            "git_branch": session["git_branch"],
            "source": session["source"],
        }
        for session in shop.json("list")["sessions"]
    ]
    assert whole == {"conversations": expected, "total_conversations": 3}
    assert [c["project"] for c in api["conversations"]] == ["api"]
    assert first == {
        "conversations": expected[:1], "total_conversations": 3, "next_cursor": "1",
    }  # fmt: skip
    assert [c["source"] for c in codex["conversations"]] == ["codex"]


def test_read_turn_returns_full_texts_and_tool_summaries(shop: Home) -> None:
    cart = shop.claude(1).session_id
    turn = run_with_server(shop, lambda s: s.call("read_turn", session_id=cart, turn_number=1))
    assert turn == {
        "session_id": cart,
        "turn_number": 1,
        "timestamp": turn["timestamp"],
        "user_text": "fix it then",
        "assistant_text": "the zebra tax is rounded half up now",
        "tools_used": [
            {"tool": "Read", "file": "/src/cart.py"},
            {"tool": "Write", "file": "/src/tax.py", "chars": 1234},
            {"tool": "Edit", "file": "/src/cart.py"},
            {"tool": "Bash", "command": "z" * 200},
            {"tool": "Grep", "pattern": "tax"},
            {"tool": "Glob", "pattern": "*.py"},
            {"tool": "Task", "type": "Explore", "description": "look around"},
            {"tool": "WebFetch"},
        ],
    }
    shown = shop.json("show", f"{cart}:1")
    assert turn["timestamp"] == shown["turns"][0]["timestamp"]
    assert turn["tools_used"] == shown["turns"][0]["tools_used"]


def test_read_conversation_continues_at_the_cursor(shop: Home) -> None:
    cart = shop.claude(1).session_id

    async def work(server: ServerClient) -> list[dict[str, Any]]:
        first = await server.call("read_conversation", session_id=cart, limit=1)
        second = await server.call(
            "read_conversation", session_id=cart, limit=1, cursor=first["next_cursor"]
        )
        return [
            first,
            second,
            await server.call("read_conversation", session_id=cart[:8], offset=1),
            await server.call("read_conversation", session_id=cart, offset=9),
            await server.call("read_turn", session_id=cart, turn_number=1),
        ]

    first, second, by_offset, behind, turn = run_with_server(shop, work)
    texts = [first.pop("turns")[0]["user_text"], second.pop("turns")[0]["user_text"]]
    assert texts == ["why is the cart total wrong", "fix it then"]
    head = {
        "session_id": cart,
        "project": "shop",
        "cwd": "/home/sam/src/shop",
        "git_branch": "main",
        "total_turns": 2,
    }
    assert first == {**head, "offset": 0, "limit": 1, "next_cursor": "1:0"}
    assert second == {**head, "offset": 1, "limit": 1}
    assert by_offset == {**head, "offset": 1, "limit": 10, "turns": [turn]}
    assert behind == {**head, "offset": 9, "limit": 10, "turns": []}


ERRORS: list[tuple[str, dict[str, Any], str, str]] = [
    ("read_turn", {"session_id": "nobody", "turn_number": 0}, "Unknown session_id: nobody",
     "unknown_session"),
    ("read_conversation", {"session_id": "nobody"}, "Unknown session_id: nobody",
     "unknown_session"),
    ("search_conversations", {"query": "zebra", "session_id": "nobody"},
     "Unknown session_id: nobody", "unknown_session"),
    ("search_conversations", {"query": "  "}, "Query required: give a word to search for",
     "bad_argument"),
    ("search_conversations", {"query": "zebra", "cursor": "x"},
     "invalid cursor 'x': pass next_cursor of a reply", "bad_cursor"),
    ("search_conversations", {"query": "zebra", "limit": 0},
     "invalid limit 0: Expected `int` >= 1", "bad_argument"),
    ("list_conversations", {"limit": -1}, "invalid limit -1: Expected `int` >= 1",
     "bad_argument"),
    ("list_conversations", {"project": 7}, "invalid project 7: Expected `str | null`, got `int`",
     "bad_argument"),
    ("read_turn", {"session_id": "x"},
     "invalid arguments: Object missing required field `turn_number`: "
     "use session_id, turn_number, include, cursor", "bad_argument"),
    ("read_turn", {"session_id": "x", "turn": 1},
     "invalid arguments: Object contains unknown field `turn`: "
     "use session_id, turn_number, include, cursor", "bad_argument"),
    ("read_turn", {"session_id": "x", "turn_number": 1, "include": ["all"]},
     "invalid include [\"all\"]: Invalid enum value 'all': use outputs, thinking, tools",
     "bad_argument"),
    ("search_conversations", {"query": "x", "mode": "exact"},
     "invalid mode \"exact\": Invalid enum value 'exact': use auto, hybrid, lexical, semantic",
     "bad_argument"),
]  # fmt: skip


def test_errors_are_replies_with_a_type(shop: Home) -> None:
    cart = shop.claude(1).session_id

    async def work(server: ServerClient) -> list[dict[str, Any]]:
        replies = [await server.call(name, **fields) for name, fields, _, _ in ERRORS]
        for number in (2, -1):
            replies.append(await server.call("read_turn", session_id=cart, turn_number=number))
        replies.append(await server.call("search_conversations", query="zebra", since="never"))
        return replies

    *replies, too_high, negative, bad_time = run_with_server(shop, work)
    assert replies == [{"error": text, "type": kind} for _, _, text, kind in ERRORS]
    assert too_high == {
        "error": "Turn 2 out of range (session has 2 turns)", "type": "out_of_range",
    }  # fmt: skip
    assert negative["error"] == "Turn -1 out of range (session has 2 turns)"
    assert bad_time["error"].startswith("invalid time 'never': ")


def test_ambiguous_id_names_the_candidates_that_are_served(home: Home) -> None:
    ids = []
    for seed, name in enumerate(("shop", "shop", "api")):
        id = f"aaaaaaaa-0000-4000-8000-00000000000{seed}"
        file = home.claude(seed + 1, slug=f"-home-sam-{name}", session_id=id)
        file.turn("zebra", "yes")
        file.write()
        ids.append(file.id)
    home.index()

    async def work(server: ServerClient) -> list[dict[str, Any]]:
        return [
            await server.call("read_turn", session_id="aaaaaaaa", turn_number=0),
            await server.call("search_conversations", query="zebra", session_id="aaaaaaaa"),
        ]

    error = {
        "error": f"Ambiguous session_id: aaaaaaaa could be {', '.join(ids)}",
        "type": "ambiguous_session",
    }
    assert run_with_server(home, work) == [error, error]
    error["error"] = f"Ambiguous session_id: aaaaaaaa could be {', '.join(ids[:2])}"
    assert run_with_server(home, work, "*-shop") == [error, error]
    turn, found = run_with_server(home, work, "*-api")
    assert turn["session_id"] == found["results"][0]["session_id"] == ids[2]


def test_read_turn_returns_inputs_outputs_and_thinking_on_request(shop: Home) -> None:
    cart = shop.claude(1).session_id

    async def work(server: ServerClient) -> list[dict[str, Any]]:
        return [
            await server.call(
                "read_turn", session_id=cart, turn_number=1, include=["tools", "thinking"]
            ),
            await server.call("read_turn", session_id=cart, turn_number=0, include="outputs"),
            await server.call("read_conversation", session_id=cart, include=["outputs"], limit=1),
        ]

    whole, outputs, conversation = run_with_server(shop, work)
    assert whole["thinking_text"] == "the okapi is to blame"
    assert whole["tools_used"][2:4] == [
        {"tool": "Edit", "file": "/src/cart.py", "call": 2, "input": "-a\n+b"},
        {"tool": "Bash", "command": "z" * 200, "call": 3, "input": "z" * 300},
    ]
    assert outputs["tools_used"] == [
        {"tool": "Bash", "command": "make test", "call": 0, "is_error": False,
         "output": "1 failed"},
    ]  # fmt: skip
    assert conversation["turns"] == [outputs]


def test_search_falls_back_to_fewer_words(shop: Home) -> None:
    async def work(server: ServerClient) -> list[dict[str, Any]]:
        return [
            await server.call("search_conversations", query="stripes quagga"),
            await server.call("search_conversations", query="quagga tarpan"),
            await server.call("search_conversations", query='"stripes returns"'),
            await server.call("search_conversations", query="deployed", project="api"),
            await server.call("search_conversations", query="failed", type="user"),
            await server.call("search_conversations", query="zebra", project="nowhere"),
        ]

    fewer, nothing, apart, elsewhere, in_tools, nowhere = run_with_server(shop, work)
    advice = "1 with the words apart, leave out the quotes"
    assert apart["notes"] == [f"0 of 4 turns match; {advice}"]
    assert [hit["snippet"] for hit in fewer["results"]] == ["returns stripes"]
    assert fewer["tier"] == "some"
    assert fewer["notes"] == ["0 of 4 turns match; 1 with 'stripes' alone, which are the results"]
    assert (nothing["results"], nothing["notes"]) == ([], ["0 of 4 turns match"])
    assert elsewhere["results"] == []
    assert elsewhere["notes"] == [
        "0 of 1 turn that passes project matches; 1 in other projects (ops), leave out project"
    ]
    assert in_tools["results"] == []
    assert in_tools["notes"] == ["0 of 4 turns match; 1 in tool output, use type=tool"]
    assert nowhere["notes"] == [
        "no project matches 'nowhere': list_conversations shows the projects"
    ]


def test_search_uses_meaning_if_turns_are_embedded(shop: Home) -> None:
    query = "animals with stripes shop"
    shop.run("index", "--embed-all", "-q")

    async def work(server: ServerClient) -> list[Any]:
        return [
            (await server.call("search_conversations", query=query))["tier"],
            (await server.call("search_conversations", query=query, mode="lexical"))["tier"],
        ]

    hybrid, lexical = run_with_server(shop, work)
    assert hybrid == "hybrid"
    assert lexical != "hybrid"


def test_list_folds_subagents_and_leaves_out_the_calling_session(home: Home) -> None:
    main = home.claude(1)
    main.turn("look around", "I will")
    main.write()
    agents = []
    for seed in (2, 3):
        agent = home.subagent(main, f"agent-{seed}", seed)
        agent.turn("explore", "found")
        agent.write()
        agents.append(agent)
    other = home.claude(4)
    other.turn("zebra", "yes")
    other.write()
    home.index()

    async def listed(server: ServerClient) -> list[Any]:
        return [
            [
                (one["session_id"], one["kind"], one["parent"], one["subagent_count"])
                for one in (await server.call("list_conversations", **fields))["conversations"]
            ]
            for fields in [{}, {"subagents": "include"}, {"subagents": "only"}, {"branch": "x"}]
        ]

    folded, whole, only, none = run_with_server(home, listed)
    both = {(main.id, "main", None, 2), (other.id, "main", None, 0)}
    children = {(agent.id, "subagent", main.id, 0) for agent in agents}
    assert set(folded) == both
    assert set(whole) == children | {(id, kind, of, 0) for id, kind, of, _ in both}
    assert set(only) == children
    assert none == []
    folded, whole, *_ = run_with_server(home, listed, CLAUDE_CODE_SESSION_ID=main.id)
    assert {one[0] for one in folded} == {one[0] for one in whole} == {other.id}


def test_glob_selects_project_directories(shop: Home) -> None:
    cart, api = shop.claude(1).session_id, shop.claude(2, slug="-home-sam-src-api").session_id

    async def work(server: ServerClient) -> list[Any]:
        listed = await server.call("list_conversations")
        return [
            await server.search("zebra"),
            [c["session_id"] for c in listed["conversations"]],
            await server.call("read_turn", session_id=cart, turn_number=0),
        ]

    found, listed, hidden = run_with_server(shop, work, "-home-*-api")
    assert found == [(api, 0)]
    assert listed == [api]
    assert hidden == {"error": f"Unknown session_id: {cart}", "type": "unknown_session"}


def test_search_continues_at_the_cursor(home: Home) -> None:
    file = home.claude()
    for number in range(25):
        file.turn(f"zebra number {number}", "yes")
    file.write()
    home.index()

    async def work(server: ServerClient) -> list[tuple[str, int]]:
        found: list[tuple[str, int]] = []
        cursor = None
        while True:
            reply = await server.call("search_conversations", query="zebra", cursor=cursor)
            found += [(r["session_id"], r["turn_number"]) for r in reply["results"]]
            cursor = reply.get("next_cursor")
            if cursor is None:
                return found

    found = run_with_server(home, work)
    lines = home.run("zebra", "-n", "0", "--full-id").stdout.splitlines()
    assert found == [(line.split(":")[0], int(line.split(":")[1])) for line in lines]
    assert len(found) == 25


@pytest.mark.parametrize("mode", ["semantic", "hybrid"])
def test_semantic_search_finds_what_the_command_line_finds(shop: Home, mode: str) -> None:
    query = "how are animals with stripes handled in the shop"
    done = shop.run(query, f"--{mode}", "--jsonl")
    expected = [json.loads(line) for line in done.stdout.splitlines()]
    assert expected, done.stderr

    found = run_with_server(
        shop, lambda server: server.call("search_conversations", query=query, mode=mode)
    )
    assert [(hit["session_id"], hit["turn_number"], hit["parts"]) for hit in found["results"]] == [
        (hit["session_id"], hit["turn"], hit["parts"]) for hit in expected
    ]

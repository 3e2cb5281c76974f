"""Paths from Windows work in `blame`, `-p`, project names and JSON."""

import pytest

from ccgrep.paths import ends_with, is_windows_path, join_path, last_name
from tests.helpers.homes import Home

PROJECT = "C:\\Users\\Sam\\src\\shop"
SHARE = "\\\\nas\\code\\api"


@pytest.mark.parametrize(
    ("path", "is_windows"),
    [
        ("C:\\Users", True),
        ("c:/Users", True),
        ("C:", True),
        (SHARE, True),
        ("/home/sam", False),
        ("src\\a.ts", False),
        ("a:b", False),
        ("", False),
    ],
)
def test_windows_path_begins_with_a_drive_or_a_server(path: str, is_windows: bool) -> None:
    assert is_windows_path(path) == is_windows


@pytest.mark.parametrize(
    ("directory", "path", "joined"),
    [
        (PROJECT, "src\\auth\\jwt.ts", "C:/Users/Sam/src/shop/src/auth/jwt.ts"),
        (PROJECT, "..\\x.ts", "C:/Users/Sam/src/x.ts"),
        (PROJECT, "D:\\y.ts", "D:/y.ts"),
        (SHARE, "a.ts", "//nas/code/api/a.ts"),
        ("/home/sam", "a\\b.ts", "/home/sam/a\\b.ts"),
        ("/home/sam", "../x", "/home/x"),
    ],
)
def test_join_path_follows_the_system_of_the_path(directory: str, path: str, joined: str) -> None:
    assert join_path(directory, path) == joined


def test_ends_with_ignores_the_case_of_windows_paths_only() -> None:
    assert ends_with("C:/Users/Sam/a.ts", "users\\sam\\A.ts")
    assert ends_with("//nas/code/a.ts", "code/a.ts")
    assert not ends_with("C:/Users/Sam/a.ts", "m/a.ts")
    assert not ends_with("/home/Sam/a.ts", "sam/a.ts")


def test_last_name_of_any_path() -> None:
    assert [last_name(p) for p in (PROJECT, SHARE, "/home/sam/x/", "a\\b")] == [
        "shop",
        "api",
        "x",
        "a\\b",
    ]


@pytest.fixture
def windows(home: Home) -> Home:
    claude = home.claude(1, slug="C--Users-Sam-src-shop", cwd=PROJECT)
    claude.prompt("change the quokka")
    edit = {
        "file_path": f"{PROJECT}\\src\\auth\\jwt.ts",
        "old_string": "a",
        "new_string": "b",
    }
    claude.result(claude.call("Edit", edit), "ok")
    claude.answer("changed the quokka")
    claude.write()
    codex = home.codex(2, cwd=SHARE)
    codex.meta()
    codex.prompt("patch the quokka")
    patch = "*** Begin Patch\n*** Update File: lib\\jwt.ts\n@@\n-a\n+b\n*** End Patch\n"
    codex.item("custom_tool_call", name="apply_patch", input=patch, call_id="c1")
    codex.item("custom_tool_call_output", call_id="c1", output="Done")
    codex.answer("patched the quokka")
    codex.write()
    home.index()
    return home


@pytest.mark.parametrize(
    "file",
    ["jwt.ts", "auth/jwt.ts", "auth\\jwt.ts", "C:\\Users\\Sam\\src\\shop\\src\\auth\\jwt.ts"],
)
def test_blame_finds_a_file_of_windows(windows: Home, file: str) -> None:
    found = windows.json("blame", file)["turns"]
    paths = {entry["path"] for turn in found for entry in turn["files"]}
    expected = {"C:/Users/Sam/src/shop/src/auth/jwt.ts"}
    assert paths == expected | ({"//nas/code/api/lib/jwt.ts"} if file == "jwt.ts" else set())


@pytest.mark.parametrize(
    "project", ["shop", "src\\shop", "src/shop", PROJECT, "c:/users/sam/src/shop"]
)
def test_project_option_matches_a_windows_path(windows: Home, project: str) -> None:
    done = windows.run("quokka", "-p", project, "-l", "--no-refresh")
    assert (len(done.stdout.split()), done.stderr) == (1, "")


def test_names_of_windows_projects_are_short_and_paths_are_whole(windows: Home) -> None:
    listed = windows.run("list").stdout.splitlines()
    assert sorted(line.split("\t")[2] for line in listed) == ["api", "shop"]
    found = windows.json("quokka", "--no-refresh")["results"]
    assert {hit["project"] for hit in found} == {"shop", "api"}
    assert {row["project"] for row in windows.json("list")["sessions"]} == {PROJECT, SHARE}

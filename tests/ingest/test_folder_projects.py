"""The project of sessions without a working directory, and `-p` with the name of their folder."""

import json
from typing import Any

import pytest

from tests.helpers.homes import Home, assert_same_as_fresh
from tests.helpers.transcripts import ClaudeFile

FOLDER = "-home-sam-src-shop"


def write_session(home: Home, seed: int = 1, **fields: Any) -> ClaudeFile:
    file = home.claude(seed, **fields)
    file.turn(f"walrus {seed}", "Done.")
    file.write()
    return file


def project(home: Home, file: ClaudeFile) -> tuple[str, str]:
    home.index()
    session = home.rows()[file.id].session
    return session.project, session.cwd


def write_index(home: Home, original_path: Any) -> None:
    index = {"version": 1, "originalPath": original_path, "entries": []}
    (home.projects / FOLDER / "sessions-index.json").write_text(json.dumps(index))


def test_issue_22_10_project_is_the_name_of_the_folder_without_a_cwd(home: Home) -> None:
    file = write_session(home, cwd="")
    assert project(home, file) == (FOLDER, "")
    for path in (["relative"], 7, "relative"):
        write_index(home, path)
        assert project(home, file) == (FOLDER, "")


def test_issue_22_10_original_path_gives_the_project_without_a_cwd(home: Home) -> None:
    file = write_session(home, cwd="")
    home.index()
    write_index(home, "/home/sam/src/shop")
    assert project(home, file) == ("/home/sam/src/shop", "/home/sam/src/shop")
    assert_same_as_fresh(home)
    file.turn("quokka", "Done.")
    file.append()
    assert home.run("-F", "quokka", "-p", "src/shop").returncode == 0
    assert_same_as_fresh(home)


def test_issue_22_10_other_session_of_the_folder_gives_the_project_without_a_cwd(
    home: Home,
) -> None:
    file = write_session(home, cwd="")
    write_session(home, 2)
    write_session(home, 3, cwd="/elsewhere")
    assert project(home, file) == ("/home/sam/src/shop", "/home/sam/src/shop")
    assert_same_as_fresh(home)


@pytest.mark.parametrize("way", [[], ["--no-index"]])
def test_issue_22_10_project_option_matches_the_name_of_the_folder(
    home: Home, way: list[str]
) -> None:
    shop = write_session(home, 1)
    write_session(home, 2, cwd="/home/sam", slug="-home-sam")
    lone = write_session(home, 3, cwd="", slug="-home-sam-lone")

    def found(folder: str) -> list[str]:
        return sorted(home.run("-F", "walrus", "-p", folder, "-l", *way).stdout.split())

    assert found(FOLDER) == [shop.id[:8]]
    assert found("-src-shop") == [shop.id[:8]]
    assert found(f"{FOLDER}-web-ui") == [shop.id[:8]]
    assert found("-home-sam-lone") == [lone.id[:8]]
    assert len(found("-home-sam")) == 3
    assert home.run("-F", "walrus", "-p", "-nowhere", *way).returncode != 0
    assert home.run("stats", "-p", FOLDER, "--json").returncode == 0

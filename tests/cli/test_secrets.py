"""All output is redacted unless the user turns that off. `ccgrep secrets` lists the secrets."""

import html
import json
import re
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from tests.helpers import scale
from tests.helpers.canaries import FAMILIES, Canary, canary, grams, is_whole, leaks
from tests.helpers.homes import Home
from tests.helpers.mcp_client import ServerClient, run_with_server
from tests.helpers.terminal import on_terminal

PLACES = ("prompt", "answer", "tool input", "tool output", "thinking", "title", "late prompt")
ROUNDS = scale.of(1, 5)


class Shop(Home):
    """A home with a session for each family, and a secret of it at each place."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self.secrets: dict[tuple[str, int, str], Canary] = {}
        self.ids: list[str] = []
        for number, family in enumerate(FAMILIES):
            for round in range(ROUNDS):
                self._write(number * ROUNDS + round, family, round)
        self.index()

    def _write(self, number: int, family: str, round: int) -> None:
        seed = 100 * round
        at = {place: canary(family, seed + n) for n, place in enumerate(PLACES)}
        self.secrets |= {(family, round, place): secret for place, secret in at.items()}
        is_path = at["prompt"].text == at["prompt"].value and "\n" not in at["prompt"].value
        inside = f"/{at['prompt'].value}" if is_path else ""
        file = self.claude(
            number + 1, slug=f"-home-{number}", cwd=f"/home/sam/shop{number}{inside}"
        )
        file.prompt(f"commonword asks {at['prompt'].text} please")
        file.blocks({"type": "thinking", "thinking": f"commonword thinks {at['thinking'].text}"})
        given = {"command": f"deploy {at['tool input'].text} now", "note": at["tool input"].text}
        file.result(file.call("Bash", given), f"commonword got\n{at['tool output'].text}\nok")
        if is_path:
            path = f"/home/sam/{at['tool input'].value}/notes.md"
            file.result(file.call("Write", {"file_path": path, "content": at["answer"].text}), "ok")
            file.result(file.call("Bash", {"command": f"{at['answer'].value} run"}), "ok")
        file.answer(f"commonword says {at['answer'].text} indeed")
        file.prompt(f"commonword {'and so on ' * 30}{at['late prompt'].text} end")
        file.answer("commonword done")
        file.meta("custom-title", customTitle=f"keys {at['title'].text}")
        file.write()
        self.ids.append(file.id)

    @property
    def refs(self) -> str:
        return "\n".join(self.ids)


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Shop:
    return Shop(tmp_path_factory.mktemp("secrets") / "home")


@pytest.fixture(scope="module")
def known(shop: Shop) -> dict[str, Canary]:
    return grams(shop.secrets.values())


ALL = ("-tuser", "-tassistant", "-ttool", "-tthinking")
SURFACES: dict[str, tuple[str, ...]] = {
    "record lines": ("commonword", "-n0"),
    "wide and colored": ("commonword", "-n0", "--width=2000", "--color=always"),
    "narrow": ("commonword", "-n0", "--width=40"),
    "tool text": ("commonword", "-n0", "-ttool", "--width=900"),
    "context": ("-F", "says", "-C1"),
    "words alone": ("-oE", r"\S+", *ALL),
    "characters": ("-oE", r".{1,9}", *ALL, "--timeout=0"),
    "lines": ("-oE", ".*", *ALL, "--timeout=0"),
    "inverted": ("-v", "nowhere", *ALL),
    "JSON": ("commonword", "-n0", "--json", *ALL),
    "JSON lines": ("commonword", "-n0", "--jsonl", *ALL),
    "titles": ("keys", "-n0"),
    "without an index": ("-F", "commonword", "--no-index", *ALL),
    "show": ("show", "-"),
    "show all": ("show", "-", "--tools", "--thinking", "--color=always"),
    "show as JSON": ("show", "-", "--tools", "--thinking", "--json"),
    "show raw": ("show", "-", "--raw"),
    "Markdown": ("export", "-", "--tools", "--thinking"),
    "HTML": ("export", "-", "--tools", "--thinking", "-fhtml"),
    "export as JSON": ("export", "-", "--tools", "--thinking", "-fjson"),
    "list": ("list", "-n0"),
    "tree": ("list", "--tree"),
    "list as JSON": ("list", "--json"),
    "brief": ("brief", "-n0"),
    "brief as JSON": ("brief", "-n0", "--json"),
    "log": ("log",),
    "log as JSON": ("log", "--json"),
    "log by a template": ("log", "--format", "{prompt} {answer} {path}"),
    "blame": ("blame", "notes.md"),
    "blame as JSON": ("blame", "notes.md", "--json"),
    "stats": ("stats", "-n0"),
    "stats as JSON": ("stats", "--json"),
    "tools": ("stats", "tools", "--by", "project"),
    "commands": ("stats", "bash"),
    "commands as JSON": ("stats", "bash", "--json"),
    "suggestions": ("stats", "bash", "--suggest"),
    "suggestions as JSON": ("stats", "bash", "--suggest", "--json"),
    "settings": ("stats", "bash", "--suggest", "--settings"),
    "cost": ("stats", "cost", "--by", "project"),
    "tokens": ("stats", "tokens", "--by", "project"),
    "secrets": ("secrets",),
    "secrets as JSON": ("secrets", "--json"),
    "status": ("status", "-v"),
    "sessions to complete": ("__complete", "session", ""),
    "turns to complete": ("__complete", "ref", "@"),
    "projects to complete": ("__complete", "project", "/"),
    "an error that names sessions": ("show", "keys"),
    "an error that names a project": ("-p", "nowhere", "commonword"),
    "recent turns to pick": ("__pick", "hits", ""),
    "hits to pick": ("__pick", "hits", "commonword"),
}
SHOWS = {
    "JSON": PLACES,
    "lines": PLACES[:5],
    "show all": ("prompt", "answer", "thinking", "late prompt"),
    "show as JSON": PLACES,
    "show raw": PLACES[:5],
    "Markdown": PLACES,
    "HTML": PLACES,
    "export as JSON": PLACES,
    "list as JSON": ("title",),
}
"""The places that a surface prints completely with --no-redact."""


def run_surface(shop: Shop, name: str, *more: str, **variables: str) -> str:
    """Return what a surface prints on both streams."""
    state = shop.directory / "pick"
    state.mkdir(exist_ok=True)
    variables["CCGREP_PICK"] = str(state)
    done = shop.run(*SURFACES[name], *more, input=shop.refs, env=variables)
    assert done.returncode in (0, 1, 2) and "Traceback" not in done.stderr
    return done.stdout + done.stderr


@pytest.mark.parametrize("name", SURFACES)
def test_secrets_are_redacted_on_every_surface(
    shop: Shop, known: dict[str, Canary], name: str
) -> None:
    assert leaks(known, run_surface(shop, name)) == []


@pytest.mark.parametrize("name", list(SHOWS)[:: scale.of(2, 1)])
def test_no_redact_prints_every_secret(shop: Shop, name: str) -> None:
    text = run_surface(shop, name, "--no-redact")
    if name == "HTML":
        text = html.unescape(re.sub("<[^>]*>", "", text))
    plain = re.sub(r"\x1b\[[0-9;]*m", "", text).replace("\\_", "_").replace("\\-", "-")
    missing = [
        (family, place)
        for (family, _, place), secret in shop.secrets.items()
        if place in SHOWS[name]
        and (place != "title" or len(secret.text) < 90)  # longer titles are cut
        and not is_whole(secret, plain)
        and not is_whole(secret, text)
    ]
    assert missing == []


def test_redact_setting_does_not_apply_to_the_server(shop: Shop, known: dict[str, Canary]) -> None:
    for name in ("record lines", "sessions to complete", "hits to pick"):
        assert leaks(known, run_surface(shop, name, CCGREP_REDACT="never"))
    assert leaks(known, run_with_server(shop, call_every_tool(shop), CCGREP_REDACT="never")) == []


def call_every_tool(shop: Shop) -> Callable[[ServerClient], Awaitable[str]]:
    async def ask(server: ServerClient) -> str:
        texts = [
            await server.call_text("search_conversations", query="commonword", limit=500),
            await server.call_text("search_conversations", query="deploy", type="tool", limit=500),
            await server.call_text("list_conversations", limit=500),
            await server.call_text("read_turn", session_id="nosuch", turn_number=0),
        ]
        for id in shop.ids:
            texts.append(await server.call_text("read_turn", session_id=id, turn_number=0))
            texts.append(await server.call_text("read_conversation", session_id=id))
        return "\n".join(texts)

    return ask


def test_server_redacts_unless_started_with_no_redact(shop: Shop, known: dict[str, Canary]) -> None:
    assert leaks(known, run_with_server(shop, call_every_tool(shop))) == []
    shown = run_with_server(shop, call_every_tool(shop), "--no-redact")
    secrets = [s for (_, _, place), s in shop.secrets.items() if place in ("prompt", "answer")]
    assert [secret for secret in secrets if not is_whole(secret, shown)] == []


def test_previews_and_terminal_output_are_redacted(shop: Shop, known: dict[str, Canary]) -> None:
    seen = [on_terminal(shop, "commonword", "-n0"), on_terminal(shop, "list", "-n0")]
    seen.append(on_terminal(shop, "stats", "bash", "-n0"))
    for id in shop.ids[:: scale.of(15, 1)]:
        seen.append(shop.run("__pick", "preview", "commonword", f"{id}:0:1.000:commonword").stdout)
    assert leaks(known, "\n".join(seen)) == []
    short = on_terminal(shop, "-F", "commonword asks", "-n1", "--long")
    assert "[redacted:" in short and "[truncated" not in short
    assert all("commonword" in text for text in seen[3:])


def test_search_for_a_secret_finds_it_and_redacts_it(shop: Shop, known: dict[str, Canary]) -> None:
    secrets = [s for (_, _, place), s in shop.secrets.items() if place == "prompt"]
    # A pattern has at most 4096 characters, and a part of a secret must not show the rest either.
    lines = [secret.value.split("\n")[-1][:40] for secret in secrets]
    typed = [word for line in lines for word in ("-e", line)]
    for options in ((), ("-o",), ("--json",), ("--color=always",)):
        done = shop.run("-F", *options, *typed)
        text = re.sub(r'"query":".*?","total_results', "", done.stdout)  # the user typed it
        assert leaks(known, text + done.stderr) == []
        assert done.stdout.count("[redacted:") >= len(secrets)
    assert len(shop.run("-F", "-l", *typed).stdout.splitlines()) == len(shop.ids)


def test_saved_files_and_their_names_are_redacted(shop: Shop, known: dict[str, Canary]) -> None:
    done = shop.run("show", "-", "--save", "--tools", "--thinking", input=shop.refs)
    paths = [Path(line) for line in done.stdout.splitlines()]
    assert len(paths) == len(shop.ids)
    lowered = {re.sub("[^a-z0-9]", "-", gram.lower()) for gram in known}
    for path in paths:
        assert leaks(known, path.read_text(encoding="utf-8")) == []
        name = path.name
        assert not any(name[at : at + 12] in lowered for at in range(len(name)))


def test_resume_does_not_print_a_directory_with_a_secret_in_its_name(home: Home) -> None:
    secret = canary("github classic", 1)
    where = home.directory / secret.value
    where.mkdir()
    file = home.claude(cwd=str(where))
    file.turn("go", "gone")
    file.write()
    home.index()
    done = home.run("resume", file.id)
    assert (done.returncode, done.stdout) == (2, "")
    assert "--no-redact" in done.stderr and leaks(grams([secret]), done.stderr) == []
    assert str(where) in home.run("resume", file.id, "--no-redact").stdout


def listed(home: Home, *options: str) -> list[list[str]]:
    done = home.run("secrets", *options)
    assert done.returncode in (0, 1)
    return [line.split(":") for line in done.stdout.splitlines()]


def test_every_secret_is_listed_by_rule_place_and_fingerprint(
    shop: Shop, figure: Callable[[str], None], known: dict[str, Canary]
) -> None:
    rows = listed(shop, "--full-id")
    found = {(id, turn, rule) for id, turn, rule, _ in rows}
    missing = []
    for number, (family, rule) in enumerate((name, rule) for name, (rule, *_) in FAMILIES.items()):
        for round in range(ROUNDS):
            id = shop.ids[number * ROUNDS + round]
            missing += [(family, turn) for turn in "01" if (id, turn, rule) not in found]
    assert missing == []
    fingerprints = Counter((rule, print) for _, _, rule, print in rows)
    assert len(fingerprints) >= len(shop.secrets)
    figure(
        f"secrets: {len(FAMILIES)} families of {len({rule for rule, *_ in FAMILIES.values()})} "
        f"rules x {len(PLACES)} places = {len(shop.secrets)} canaries for {len(SURFACES) + 4} "
        f"surfaces and 4 tools, {len(missing)} not listed by `ccgrep secrets`"
    )


def test_same_secret_has_the_same_fingerprint_everywhere(home: Home) -> None:
    one, other = canary("github classic", 1), canary("github classic", 2)
    key = canary("pem rsa", 3)
    file = home.claude()
    file.turn(f"use {one.text}", f"not {other.text}", f"echo {one.text}", f"a {one.text} b")
    file.turn("the key", key.text, "cat k.json", json.dumps({"private_key": key.value}))
    file.write()
    home.index()
    rows = listed(home)
    prints = {
        rule: {p for _, _, r, p in rows if r == rule} for rule in ("github-token", "private-key")
    }
    assert (len(prints["github-token"]), len(prints["private-key"])) == (2, 1)
    assert all(re.fullmatch("[0-9a-f]{12}", p) for found in prints.values() for p in found)
    found = json.loads(home.run("secrets", "--json").stdout)["secrets"]
    kinds = {tuple(one["kinds"]) for one in found}
    assert kinds == {("user", "tool"), ("assistant",), ("assistant", "tool")}


def test_secrets_command_filters_and_suggests_forget(home: Home) -> None:
    for number, project in ((1, "shop"), (2, "blog")):
        file = home.claude(number, slug=f"-{project}", cwd=f"/home/sam/{project}")
        file.turn(f"{project} {canary('openai', number).text}", "ok")
        file.write()
    home.index()
    done = home.run("secrets", "-p", "shop")
    assert (done.returncode, len(done.stdout.splitlines())) == (0, 1)
    assert "ccgrep forget" in done.stderr and "ccgrep gc" in done.stderr
    assert home.run("secrets", "-q", "-p", "blog").stderr == ""
    none = home.run("secrets", "--since", "2099-01-01")
    assert (none.returncode, none.stdout, none.stderr) == (1, "", "ccgrep: no secret found\n")
    assert home.run("secrets", "-q", "--since", "2099-01-01").stderr == ""
    read = home.run("show", "-", input=done.stdout)
    assert "[redacted:openai-key]" in read.stdout

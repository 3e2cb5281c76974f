"""The configuration: the origin of values, invalid values, and `ccgrep settings`."""

from pathlib import Path

import pytest

from ccgrep.config import Config
from ccgrep.errors import UsageError
from ccgrep.output.report_text import settings_lines
from ccgrep.settings import KEYS, read_settings
from tests.helpers.attacks import ATTACKS, acting
from tests.helpers.homes import Home
from tests.helpers.imports import imported_modules


@pytest.fixture
def zoo(home: Home) -> Home:
    for seed in range(1, 15):
        file = home.claude(seed)
        file.turn(f"zebra {seed}", "in the zoo")
        file.write()
    home.rest()
    home.index()
    return home


def configure(home: Home, text: str) -> Path:
    path = home.directory / ".config" / "ccgrep" / "config.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def settings(home: Home, **environment: str) -> dict[str, tuple[str, str]]:
    done = home.run("settings", env=environment)
    assert (done.returncode, done.stderr) == (0, "")
    rows = (line.split("\t") for line in done.stdout.splitlines())
    return {name: (value, origin) for name, value, origin in rows}


def test_settings_prints_the_value_and_origin_of_every_key(home: Home) -> None:
    found = settings(home)
    assert list(found) == list(KEYS)
    assert found["store"] == (str(home.store_dir), "CCGREP_DIR")
    assert found["limit"] == ("10", "default")
    assert found["surfaces"] == ("prompt, answer", "default")
    assert found["roots"] == ("-", "default")


def test_variable_overrides_file_and_file_overrides_default(home: Home) -> None:
    path = configure(home, 'limit = 3\npager = "more"\ncolor = "always"\n')
    found = settings(home, CCGREP_LIMIT="4", PAGER="less")
    assert found["limit"] == ("4", "CCGREP_LIMIT")
    assert found["pager"] == ("less", "PAGER")
    assert found["color"] == ("always", str(path))
    assert settings(home, NO_COLOR="1")["color"] == ("never", "NO_COLOR")
    assert settings(home, CCGREP_COLOR="auto", NO_COLOR="1")["color"] == ("auto", "CCGREP_COLOR")


def test_option_overrides_variable_and_file(zoo: Home) -> None:
    def hits(*options: str, **environment: str) -> int:
        done = zoo.run("zebra", *options, env=environment)
        return len(done.stdout.splitlines())

    assert hits() == 10
    configure(zoo, "limit = 3\n")
    assert (hits(), hits("-n5")) == (3, 5)
    assert (hits(CCGREP_LIMIT="4"), hits("-n5", CCGREP_LIMIT="4")) == (4, 5)
    assert hits(CCGREP_LIMIT="0") == 14


def test_json_has_typed_values(home: Home) -> None:
    path = configure(home, 'alpha = 1\nsurfaces = ["full"]\nroots = ["~/old", "backup"]\n')
    found = home.json("settings")
    assert found["schema"] == 1
    assert found["file"] == str(path)
    assert found["settings"]["alpha"] == {"value": 1.0, "origin": str(path)}
    assert found["settings"]["surfaces"]["value"] == ["full"]
    roots = [str(home.directory / "old"), str(path.parent / "backup")]
    assert found["settings"]["roots"]["value"] == roots


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("limt = 3", "has the unknown key limt: did you mean limit?"),
        ("[search]\nlimit = 3", "has the unknown key search: the keys are store, roots,"),
        ("zzz = 3", "has the unknown key zzz: the keys are store, roots,"),
        ('limit = "3"', "must be a whole number, 0 or more, not '3'"),
        ("limit = -1", "must be a whole number, 0 or more, not -1"),
        ("limit = 2.5", "must be a whole number, 0 or more, not 2.5"),
        ("limit = true", "must be a whole number, 0 or more, not True"),
        ("alpha = 1.5", "must be a number from 0 to 1, not 1.5"),
        ("alpha = nan", "must be a number from 0 to 1, not nan"),
        ('color = "yes"', "must be one of auto, always, never, not 'yes'"),
        ('surfaces = ["prompt", "all"]', "must be a list of one or more of prompt, answer, full"),
        ("surfaces = []", "must be a list of one or more of prompt, answer, full, not []"),
        ("surfaces = [{}]", "must be a list of one or more of prompt, answer, full, not [{}]"),
        ("roots = 1", "must be a list of paths in quotes, not 1"),
        ('store = ""', "must be a path in quotes, not ''"),
        ("limit = ", "is not TOML: Invalid value"),
        ("a = " + "[" * 5000, "is not TOML"),
    ],
)
def test_invalid_file_is_exit_2_with_the_reason(home: Home, text: str, message: str) -> None:
    path = configure(home, text)
    for command in (["settings"], ["some", "words"], ["list"]):
        done = home.run(*command)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith("ccgrep: ") and str(path) in done.stderr
        assert message in done.stderr


def test_invalid_variable_is_named_in_the_message(home: Home) -> None:
    done = home.run("settings", env={"CCGREP_LIMIT": "many"})
    assert (done.returncode, done.stdout) == (2, "")
    assert "CCGREP_LIMIT must be a whole number, 0 or more, not 'many'" in done.stderr


def test_config_variable_must_name_an_existing_file(home: Home, tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    done = home.run("settings", env={"CCGREP_CONFIG": str(path)})
    assert (done.returncode, "does not exist" in done.stderr) == (2, True)
    path.write_text("limit = 7\n", encoding="utf-8")
    assert settings(home, CCGREP_CONFIG=str(path))["limit"] == ("7", str(path))
    assert home.run("settings", env={"CCGREP_CONFIG": str(tmp_path)}).returncode == 2


def test_help_needs_no_configuration(home: Home) -> None:
    configure(home, "limt = 3")
    assert home.run("--help").returncode == home.run("settings", "--help").returncode == 0


def test_configured_roots_are_read_in_addition_to_the_defaults(home: Home, tmp_path: Path) -> None:
    other = Home(tmp_path / "other")
    for where, text in ((home, "here"), (other, "there")):
        file = where.claude(len(text))
        file.turn(f"zebra {text}", "yes")
        file.write()
    configure(home, f'roots = ["{other.directory}", "/not/mounted"]\n')
    assert len(home.run("zebra").stdout.splitlines()) == 2
    configure(home, f'roots = ["{tmp_path}"]\n')
    done = home.run("zebra")
    assert (done.returncode, "has no history of an agent" in done.stderr) == (2, True)


def test_subagents_setting_excludes_sub_agents(home: Home) -> None:
    file = home.claude()
    file.turn("zebra", "yes")
    file.write()
    agent = home.subagent(file, "agent-1")
    agent.turn("zebra as well", "yes")
    agent.write()
    home.index()
    assert len(home.run("zebra").stdout.splitlines()) == 2
    configure(home, 'subagents = "exclude"\n')
    assert len(home.run("zebra").stdout.splitlines()) == 1
    assert len(home.run("zebra", "--subagents", "include").stdout.splitlines()) == 2
    assert len(home.run("list").stdout.splitlines()) == 1


def test_color_setting_turns_colors_on(zoo: Home) -> None:
    configure(zoo, 'color = "always"\n')
    assert "\x1b[" in zoo.run("zebra").stdout
    assert "\x1b[" not in zoo.run("zebra", "--color", "never").stdout
    assert "\x1b[" not in zoo.run("zebra", env={"NO_COLOR": "1"}).stdout


def test_toml_parser_is_imported_only_for_a_file(zoo: Home) -> None:
    assert "tomllib" not in imported_modules(zoo, "zebra")
    configure(zoo, "limit = 3\n")
    assert "tomllib" in imported_modules(zoo, "zebra")


def test_messages_about_a_file_are_inert(home: Home) -> None:
    for name, text in ATTACKS.items():
        typed = text.replace("\0", "").encode("utf-8", "replace").decode()
        quoted = "".join(f"\\U{ord(char):08x}" for char in typed)
        for line in (f'"{quoted}" = 1', f'color = "{quoted}"', typed):
            configure(home, line)
            with pytest.raises(UsageError) as raised:
                read_settings(home.environment)
            assert acting(str(raised.value), also="") == [], name
        configure(home, f'model = "{quoted}"')
        for is_terminal in (True, False):
            lines = list(settings_lines(read_settings(home.environment), is_terminal))
            assert (len(lines), acting("".join(lines), also="\t")) == (len(KEYS), []), name


def test_config_has_a_field_for_each_key() -> None:
    places = {"store": "store_dir"}
    assert {places.get(name, name) for name in KEYS} == set(Config._fields) - {
        "recalls_dir",
        "temp_dirs",
        "model_variables",
        "plugin_variables",
        "project_sources",
        "remote_variables",
    }

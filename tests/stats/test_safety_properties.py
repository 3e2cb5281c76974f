"""No spelling of a dangerous command and no company yields a rule."""

from hypothesis import given, settings
from hypothesis import strategies as st

from ccgrep.stats.project_commands import find_command
from ccgrep.stats.safety import judge
from ccgrep.stats.shell import parse
from tests.helpers import scale
from tests.helpers.dangers import DANGEROUS, REVIEWABLE, SAFE

dangerous = st.sampled_from(DANGEROUS)
safe = st.sampled_from(SAFE)
words = st.text("abcxyz019._-/", min_size=1, max_size=8)


def respell(command: str, how: str) -> str:
    """Spell the first word in another way that the shell reads as the same."""
    first, blank, rest = command.partition(" ")
    if not first.isalnum():
        return command
    match how:
        case "single":
            first = f"'{first}'"
        case "double":
            first = f'"{first}"'
        case "split":
            first = f"{first[0]}''{first[1:]}"
        case "backslash":
            first = f"\\{first}"
        case "ansi":
            first = f"$'{first}'"
        case "path":
            first = f"/usr/bin/{first}"
        case "relative":
            first = f"../../bin/{first}"
    return first + blank + rest


WRAPPINGS = {
    "none": "@",
    "substitution": 'ls "$(@)"',
    "backticks": "ls `@`",
    "process": "cat <(@)",
    "subshell": "(@)",
    "group": "{ @; }",
    "negated": "! @",
    "background": "@ &",
    "newline": "ls\n@\n",
    "continued": "\\\n@",
    "bash": "bash -c '@'",
    "output": "@ > out",
    "input": "@ < in",
    **{name: f"{name} @" for name in "sudo env nohup command exec xargs time eval".split()},
}


def wrap(command: str, how: str) -> str:
    return WRAPPINGS[how].replace("@", command)


QUOTING = st.sampled_from("none single double split backslash ansi path relative".split())
WRAPPING = st.sampled_from(sorted(WRAPPINGS))
JOINTS = st.sampled_from(["&&", "||", ";", "|", "&", "\n", "|&"])
PREFIXES = st.sampled_from(["", "FOO=1 ", "PATH=. ", "A='x y' B=2 ", "LD_PRELOAD=x.so "])


@settings(max_examples=scale.of(120, 600), deadline=None)
@given(dangerous, QUOTING, WRAPPING, WRAPPING, PREFIXES)
def test_no_spelling_of_a_dangerous_command_yields_a_rule(
    command: str, quoting: str, inner: str, outer: str, prefix: str
) -> None:
    script = parse(wrap(wrap(prefix + respell(command, quoting), inner), outer))
    assert judge(script).rule == ""
    assert find_command(script) in ("", *REVIEWABLE)


@settings(max_examples=scale.of(120, 600), deadline=None)
@given(st.lists(safe, max_size=3), dangerous, st.lists(safe, max_size=3), JOINTS)
def test_safe_commands_around_a_dangerous_one_yield_no_rule(
    before: list[str], bad: str, after: list[str], joint: str
) -> None:
    script = parse(f" {joint} ".join([*before, bad, *after]))
    assert judge(script).rule == ""
    assert find_command(script) in ("", bad)


@settings(max_examples=scale.of(80, 400), deadline=None)
@given(safe, words, st.sampled_from([">", ">>", "2>", "&>", ">|", "<>", ">&", "<<<", "<"]))
def test_redirection_to_a_file_yields_no_rule(command: str, name: str, operator: str) -> None:
    if name not in ("1", "2"):
        assert judge(parse(f"{command} {operator} {name}")).rule == ""


@settings(max_examples=scale.of(60, 300), deadline=None)
@given(st.text(max_size=300))
def test_any_text_can_be_parsed_and_judged(script: str) -> None:
    parsed = parse(script)
    assert len(parsed.base) <= 64
    judge(parsed)

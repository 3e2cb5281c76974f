"""Shapes of secrets: one table, and where in a text they stand. Pure.

This is pattern matching, not detection: what has no known shape, and no telling name before it, is
not found. A row is looked at only if one of its literals stands in the text and, where that is an
ordinary word, if there may be a secret behind it: so ordinary text costs a quick scan and no
regular expression. Each of these is anchored by its literal and has no nested repetition that could
match in two ways, so time grows with the text alone.
"""

from __future__ import annotations

from itertools import pairwise

from ccgrep.lazy_re import compile_pattern
from ccgrep.light_typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

_SHORTEST = 10
_ALNUM = "[A-Za-z0-9]"
_URL64 = "[A-Za-z0-9_-]"
_HEX = "[0-9a-f]"
_LEAST_CUT = 4
_CUT = r"(?=(?:…|\.\.\.)?\Z)"
"""The end of a text that was cut, as titles are: there the beginning of a secret is one."""

_PLACEHOLDERS = (
    r"(?i)example|placeholder|your[_-]|redacted|changeme|dummy|insert|replace|x{6}|\*{3}|\.{3}"
    "|12345678|abcdefgh"
)
_DUMMIES = frozenset(
    "admin dummy foo guest hunter2 mypassword mysecretpassword p pass passwd password postgres pw "
    "pwd root secret test testing token user username mysql redis example".split()
)
"""What stands for a password in examples."""
_NAMES = (
    "(?:pass(?:word|wd|phrase)|pwd|secret|token|credentials?|api[_-]?key"
    "|(?:access|auth|secret|private|encryption|signing|account|master|service|shared)[_-]?key)"
)
_TOLD = ("pass", "pwd", "secret", "token", "credential", "key")
"""What all of these names have one of."""
_ASSIGN = r"""[=:]{1,2}>?[ \t]{0,4}\\{0,2}["'`]?"""
_VALUE = "[A-Za-z0-9!#%*+./:?@^_~=-]{11,255}[A-Za-z0-9!#%*+@^_~=-]"
_NAMED = rf"(?i:{_NAMES})[A-Za-z0-9_-]{{0,20}}\\{{0,2}}[\"'`]?[ \t]{{0,4}}{_ASSIGN}$"
"""A name that tells, and what stands between it and its value."""
_WORDY = r"^(?:[A-Za-z_]+\d{0,2}[.:/])+|^[\d.,:/TZ+-]+$"
"""Dotted names and paths; numbers and times."""
_DIGIT = "[0-9]"
_WORDS = "[a-z]{5,}"
_RUN = "[A-Za-z0-9_]{8,}"
_BEFORE = 64
"""So much of what stands before a secret is looked at."""


def _word(literal: str, chars: str = _ALNUM) -> str:
    """`literal` where a word of `chars` begins, also behind an escape of JSON, of a URL, or of a
    terminal.

    It comes first and is looked back over: so the search for it is the quick one for literals.
    """
    ways = (
        rf"(?<!{chars}{literal})",
        rf"(?<=\\[nrt]{literal})",
        rf"(?<=%[0-9A-F]{{2}}{literal})",
    )
    return f"{literal}(?:{'|'.join(ways)}|(?<=[0-9;[]m{literal}))"


class Rule(NamedTuple):
    """A family of secrets. The pattern's first group is the secret, if it has one; `is_real` is
    told it and what stands before, and says whether it is one and no placeholder. `is_likely` says
    of a text that has a literal whether the pattern could match."""

    name: str
    literals: tuple[str, ...]
    pattern: str
    is_real: Callable[[str, str], bool]
    is_likely: Callable[[str], bool] = bool


class Secret(NamedTuple):
    """A secret in a text."""

    start: int
    end: int
    rule: str


def _is_long(word: str) -> bool:
    """Whether a word may be such a value as `_VALUE` and its like, with a digit."""
    return len(word) > 11 and any(map(str.isdigit, word))


def _has_flag(text: str) -> bool:
    return any("--" in flag and _is_long(word) for flag, word in pairwise(text.split()))


def _has_bearer(text: str) -> bool:
    pairs = pairwise(text.split())
    return any(word.lower().endswith("bearer") and _is_long(value) for word, value in pairs)


def _has_assigned(text: str) -> bool:
    words = ["", "", *text.split()]
    for name, before, word in zip(words, words[1:], words[2:], strict=False):
        is_sign = before.endswith(("=", ":", ">"))
        value = word if is_sign else word.replace("=", ":").partition(":")[2]
        if _is_long(value) and any(told in f"{name}{before}{word}".lower() for told in _TOLD):
            return True
    return False


def _has_authority(text: str) -> bool:
    """Whether there is a URL in it that may have a password."""
    for rest in text.split("://")[1:]:
        authority = rest.partition("/")[0]
        if ":" in authority and ("@" in authority or authority == rest):
            return True
    return False


def _is_varied(value: str, _: str = "") -> bool:
    """Not a run of few characters, and no word that stands for something else."""
    return len(set(value)) >= min(8, len(value) // 2) and not compile_pattern(_PLACEHOLDERS).search(
        value
    )


def _is_key(value: str, _: str) -> bool:
    """Varied, and with a run that no words joined by dashes have."""
    runs = compile_pattern(_RUN).findall(value)
    return any(map(compile_pattern(_DIGIT).search, runs)) and _is_varied(value)


def _is_dashed_key(value: str, _: str) -> bool:
    """The same, but capitals will do: what it begins with is no word."""
    runs = compile_pattern(_RUN).findall(value)
    return any(not run.islower() for run in runs) and _is_varied(value)


def _is_password(value: str, _: str) -> bool:
    return value.lower() not in _DUMMIES and not compile_pattern(_PLACEHOLDERS).search(value)


def _is_random(value: str, _: str = "") -> bool:
    """Of several kinds of characters that change often: no name, path, number or call."""
    if (
        not compile_pattern(_DIGIT).search(value)
        or compile_pattern(_WORDY).search(value)
        or not _is_varied(value)
    ):
        return False
    if sum(map(len, compile_pattern(_WORDS).findall(value))) * 3 > len(value):
        return False
    kinds = [char.isdigit() + 2 * char.isupper() for char in value if char.isalnum()]
    changes = sum(a != b for a, b in pairwise(kinds))
    return changes * 4 >= len(value)


def _is_named(value: str, before: str) -> bool:
    return bool(compile_pattern(_NAMED).search(before)) and _is_varied(value)


def _is_named_random(value: str, before: str) -> bool:
    return bool(
        compile_pattern(_DIGIT).search(value) and compile_pattern(_NAMED).search(before)
    ) and _is_random(value)


def _is_authorized(value: str, before: str) -> bool:
    return "uthorization" in before and _is_varied(value)


def _always(_: str, __: str) -> bool:
    return True


def _token(
    name: str,
    prefixes: str,
    chars: str,
    least: int,
    is_real: Callable[[str, str], bool] = _is_varied,
    is_word: bool = False,
) -> Rule:
    """A row for what begins with one of `prefixes` and goes on with `least` or more `chars`;
    `is_word` if longer words may end like a prefix."""
    literals = tuple(prefixes.split())
    escaped = prefixes.replace(".", r"\.").split()  # re.escape takes a third of a millisecond.
    either = "|".join(map(_word, escaped) if is_word else escaped)
    rest = f"(?:{chars}{{{least},}}|{chars}{{{_LEAST_CUT},}}{_CUT})"
    return Rule(name, literals, f"(?:{either}){rest}", is_real)


_PEM_BEGIN = "-----BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----"
_PEM_END = "-----END (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----"
_PEM = (
    f"{_PEM_BEGIN}(?:(?:[^-]|-(?!----(?:BEGIN|END) ))*+{_PEM_END}"
    r"|(?:(?:\\[nr]|[^A-Za-z0-9+/=-]){0,20}+[A-Za-z0-9+/=]{12,}+)++"
    r"(?:(?:\\[nr]|\s){0,4}[A-Za-z0-9+/=]{1,64})?)"
)
"""With its end all that is between; without one as far as it is base64."""

RULES: tuple[Rule, ...] = (
    Rule("private-key", ("-----BEGIN ",), _PEM, _always),
    Rule(
        "aws-key",
        ("AKIA", "ASIA"),
        rf"{_word('A[KS]IA')}(?:[A-Z2-7]{{16}}(?![A-Za-z0-9])|[A-Z2-7]{{4,15}}{_CUT})",
        _is_varied,
    ),
    Rule(
        "aws-secret",
        ("ecretAccessKey", "ecret_access_key", "ECRET_ACCESS_KEY"),
        rf"{_ASSIGN}((?:[A-Za-z0-9/+]{{40}}(?![A-Za-z0-9/+=])|[A-Za-z0-9/+]{{8,39}}{_CUT}))",
        _is_named,
    ),
    _token("github-token", "ghp_ gho_ ghu_ ghs_ ghr_", _ALNUM, 30),
    _token("github-token", "github_pat_", "[A-Za-z0-9_]", 22),
    _token("gitlab-token", "glpat- gldt- glrt-", _URL64, 16),
    _token("anthropic-key", "sk-ant-", _URL64, 16),
    _token("openrouter-key", "sk-or-v1-", _HEX, 32),
    _token("openai-key", "sk-proj- sk-svcacct-", _URL64, 16),
    _token("openai-key", "sk-", _URL64, 20, _is_dashed_key, is_word=True),
    _token("google-key", "AIza", _URL64, 30),
    _token("google-token", "ya29.", _URL64, 20),
    _token("google-client-secret", "GOCSPX-", _URL64, 20),
    Rule(
        "slack-token",
        ("xox", "xapp-"),
        rf"(?:xox[abceprs]|xapp)-(?:[A-Za-z0-9-]{{16,}}|[A-Za-z0-9-]{{4,}}{_CUT})",
        _is_varied,
    ),
    Rule(
        "slack-webhook",
        ("hooks.slack.com/",),
        r"hooks\.slack\.com/(?:services|workflows|triggers)/([A-Za-z0-9/_-]{12,})",
        _is_varied,
    ),
    Rule(
        "discord-webhook",
        ("/api/webhooks/",),
        r"/api/webhooks/\d{6,20}/([A-Za-z0-9_-]{12,})",
        _is_varied,
    ),
    Rule(
        "discord-token",
        ("iscord", "ISCORD"),
        _word("[MNO]", _URL64) + rf"{_URL64}{{23,27}}\.{_URL64}{{6}}\.{_URL64}{{27,}}",
        _is_varied,
    ),
    Rule(
        "stripe-key",
        ("k_live_", "k_test_"),
        rf"[sr]k_(?:live|test)_(?:{_ALNUM}{{16,}}|{_ALNUM}{{4,}}{_CUT})",
        _is_varied,
    ),
    _token("stripe-webhook", "whsec_", "[A-Za-z0-9+/=]", 20),
    Rule(
        "twilio-key",
        ("SK",),
        rf"{_word('SK')}(?:{_HEX}{{32}}(?![A-Za-z0-9])|{_HEX}{{8,31}}{_CUT})",
        _is_varied,
    ),
    Rule(
        "sendgrid-key",
        ("SG.",),
        _word(r"SG\.")
        + rf"(?:{_URL64}{{16,32}}\.(?:{_URL64}{{16,}}|{_URL64}*{_CUT})|{_URL64}{{8,32}}{_CUT})",
        _is_varied,
    ),
    _token("npm-token", "npm_", _ALNUM, 30, is_word=True),
    _token("pypi-token", "pypi-AgE", _URL64, 40),
    _token("huggingface-token", "hf_", _ALNUM, 30, is_word=True),
    _token("digitalocean-token", "dop_v1_ doo_v1_", _HEX, 32),
    Rule("azure-key", ("AccountKey=",), "AccountKey=([A-Za-z0-9+/]{12,}={0,2})", _is_varied),
    Rule(
        "azure-sas",
        ("sig=",),
        rf"[?&;]sig=((?:[A-Za-z0-9%+/]{{30,}}={{0,2}}|[A-Za-z0-9%+/]{{8,}}{_CUT}))",
        _is_varied,
    ),
    Rule(
        "jwt",
        ("eyJ",),
        _word("eyJ", _URL64) + rf"{_URL64}{{8,}}+\.eyJ{_URL64}{{6,}}(?:\.{_URL64}*)?",
        _always,
    ),
    Rule(
        "telegram-token",
        (":AA",),
        rf"(?<![0-9])[0-9]{{8,10}}:AA(?:{_URL64}{{32,}}|{_URL64}{{4,}}{_CUT})",
        _is_varied,
    ),
    _token("shopify-token", "shpat_ shpss_", "[A-Fa-f0-9]", 32),
    _token("databricks-token", "dapi", _HEX, 32, is_word=True),
    _token("vault-token", "hvs. hvb.", _URL64, 24, is_word=True),
    _token("age-key", "AGE-SECRET-KEY-1", "[0-9A-Z]", 40),
    _token("square-token", "sq0atp- sq0csp- EAAAE", _URL64, 22),
    _token("mailgun-key", "key-", _HEX, 32, is_word=True),
    _token("linear-key", "lin_api_", _ALNUM, 30),
    _token("notion-token", "ntn_", _ALNUM, 30, is_word=True),
    _token("figma-token", "figd_", _URL64, 30),
    _token("postman-key", "PMAK-", "[0-9a-f-]", 40),
    _token("grafana-token", "glsa_ glc_ey", "[A-Za-z0-9_+/=]", 30),
    _token("docker-token", "dckr_pat_", _URL64, 20),
    _token("sentry-token", "sntrys_ sntryu_", "[A-Za-z0-9_+/=]", 32),
    _token("groq-key", "gsk_", _ALNUM, 40),
    _token("xai-key", "xai-", _ALNUM, 60, is_word=True),
    Rule(
        "bearer-token",
        ("earer ", "EARER "),
        r"(?:[Bb]earer|BEARER)[ \t]{1,4}([A-Za-z0-9._~+/=-]{11,}[A-Za-z0-9_~+/=-])",
        _is_key,
        _has_bearer,
    ),
    Rule(
        "basic-auth",
        ("Basic ", "basic "),
        r"[Bb]asic[ \t]{1,4}([A-Za-z0-9+/]{8,}={0,2})",
        _is_authorized,
    ),
    Rule(
        "basic-auth",
        (" -u ", "--user "),
        r"-(?:u|-user)[ \t]{1,4}[\"']?[^\s:\"'$<{]{1,100}:([^\s\"'$<{@:/]{8,})",
        _is_key,
    ),
    Rule(
        "url-password",
        ("://",),
        r"://[^\s/:@\"'<>]{0,100}:(?!\[redacted|//|[0-9]+(?:[^0-9@]|\Z))([^\s/@:\"'<>${}\[\]]{3,})"
        rf"(?:@(?=[A-Za-z0-9\[$<{{])|@?{_CUT})",
        _is_password,
        _has_authority,
    ),
    Rule(
        "password",
        ("--pass", "--token", "--secret", "--api-key", "-token ", "-key "),
        rf"(?<!-)--(?=[a-z])[a-z-]{{0,30}}(?:pass[a-z]{{0,6}}|token|secret|key) [\"']?({_VALUE})",
        _is_random,
        _has_flag,
    ),
    Rule(
        "password",
        tuple("assw ASSW assph ecret ECRET oken OKEN redent key KEY Key pwd PWD".split()),
        # Looked ahead to, since what is assigned may be an assignment itself.
        rf"{_ASSIGN}(?=({_VALUE}))",
        _is_named_random,
        _has_assigned,
    ),
)
_LITERALS = tuple((literal, rule) for rule in RULES for literal in rule.literals)


def find(text: str) -> list[Secret]:
    """The secrets of a text, in order and apart from each other."""
    if len(text) < _SHORTEST:
        return []
    near = dict.fromkeys([rule for literal, rule in _LITERALS if literal in text])
    found = sorted(
        (secret for rule in near if rule.is_likely(text) for secret in _matches(rule, text)),
        key=lambda secret: secret.start,
    )
    return _apart(found) if found else found


def _matches(rule: Rule, text: str) -> Iterator[Secret]:
    for match in compile_pattern(rule.pattern).finditer(text):
        start, end = match.span(match.lastindex or 0)
        if rule.is_real(text[start:end], text[max(start - _BEFORE, 0) : start]):
            yield Secret(start, end, rule.name)


def _apart(secrets: Sequence[Secret]) -> list[Secret]:
    """Secrets that overlap as one, named as the first of them; of several as in the table."""
    kept = [secrets[0]]
    for secret in secrets[1:]:
        if secret.start >= kept[-1].end:
            kept.append(secret)
        elif secret.end > kept[-1].end:
            kept[-1] = kept[-1]._replace(end=secret.end)
    return kept

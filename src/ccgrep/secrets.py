"""Find secrets in a text by a table of patterns. Pure.

Only secrets with a known form, or behind a name such as `password`, are found. A rule applies only
if the text contains one of its literals. Where the literal is an ordinary word, a cheap check comes
first, so that ordinary text needs no regular expression. Each pattern is anchored by its literal
and has no ambiguous nested repetition, so the time grows linearly with the text.
"""

from __future__ import annotations

from itertools import pairwise

from ccgrep.lazy_re import compile_pattern
from ccgrep.light_typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

_MIN_CHARS = 10
_ALNUM = "[A-Za-z0-9]"
_URL64 = "[A-Za-z0-9_-]"
_HEX = "[0-9a-f]"
_MIN_CUT_CHARS = 4
_CUT = r"(?=(?:…|\.\.\.)?\Z)"
"""The end of a truncated text, such as a title. There the first characters of a secret suffice."""

_PLACEHOLDERS = (
    r"(?i)example|placeholder|your[_-]|redacted|changeme|dummy|insert|replace|x{6}|\*{3}|\.{3}"
    "|12345678|abcdefgh"
)
_DUMMIES = frozenset(
    "admin dummy foo guest hunter2 mypassword mysecretpassword p pass passwd password postgres pw "
    "pwd root secret test testing token user username mysql redis example".split()
)
"""Passwords of examples."""
_NAMES = (
    "(?:pass(?:word|wd|phrase)|pwd|secret|token|credentials?|api[_-]?key"
    "|(?:access|auth|secret|private|encryption|signing|account|master|service|shared)[_-]?key)"
)
_NAME_PARTS = ("pass", "pwd", "secret", "token", "credential", "key")
"""Each of `_NAMES` contains one of these."""
_ASSIGN = r"""[=:]{1,2}>?[ \t]{0,4}\\{0,2}["'`]?"""
_VALUE = "[A-Za-z0-9!#%*+./:?@^_~=-]{11,255}[A-Za-z0-9!#%*+@^_~=-]"
_NAMED = rf"(?i:{_NAMES})[A-Za-z0-9_-]{{0,20}}\\{{0,2}}[\"'`]?[ \t]{{0,4}}{_ASSIGN}$"
"""A name of a secret, and everything between it and its value."""
_WORDY = r"^(?:[A-Za-z_]+\d{0,2}[.:/])+|^[\d.,:/TZ+-]+$"
"""Dotted names, paths, numbers and times."""
_DIGIT = "[0-9]"
_WORDS = "[a-z]{5,}"
_RUN = "[A-Za-z0-9_]{8,}"
_CONTEXT_CHARS = 64
"""How much text before a secret decides whether it is real."""


def _word(literal: str, chars: str = _ALNUM) -> str:
    """Return a pattern for `literal` at the start of a word of `chars`.

    The word may also start after an escape sequence of JSON, of a URL or of a terminal. The literal
    comes first and lookbehinds follow, because `re` searches fast for a literal prefix.
    """
    return (
        rf"{literal}(?:(?<!{chars}{literal})|(?<=\\[nrt]{literal})|(?<=%[0-9A-F]{{2}}{literal})"
        rf"|(?<=[0-9;[]m{literal}))"
    )


class Secret(NamedTuple):
    start: int
    end: int
    rule: str


def _is_long(word: str) -> bool:
    """Return whether a word is long enough for a secret value and has a digit."""
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
        if _is_long(value) and any(part in f"{name}{before}{word}".lower() for part in _NAME_PARTS):
            return True
    return False


def _has_authority(text: str) -> bool:
    """Return whether the text has a URL that may contain a password."""
    for rest in text.split("://")[1:]:
        authority = rest.partition("/")[0]
        if ":" in authority and ("@" in authority or authority == rest):
            return True
    return False


def _has(pattern: str, text: str) -> bool:
    return bool(compile_pattern(pattern).search(text))


def _is_varied(value: str, _: str = "") -> bool:
    """Return whether a value has enough different characters and is no placeholder."""
    return len(set(value)) >= min(8, len(value) // 2) and not _has(_PLACEHOLDERS, value)


def _is_key(value: str, _: str) -> bool:
    """Return whether a value is varied and has a run that dashed words do not have."""
    runs = compile_pattern(_RUN).findall(value)
    return any(_has(_DIGIT, run) for run in runs) and _is_varied(value)


def _is_dashed_key(value: str, _: str) -> bool:
    """Return the same as `_is_key`, but accept capitals instead of digits."""
    runs = compile_pattern(_RUN).findall(value)
    return any(not run.islower() for run in runs) and _is_varied(value)


def _is_password(value: str, _: str) -> bool:
    return value.lower() not in _DUMMIES and not _has(_PLACEHOLDERS, value)


def _is_random(value: str, _: str = "") -> bool:
    """Return whether a value mixes kinds of characters, unlike a name, path, number or call."""
    if not _has(_DIGIT, value) or _has(_WORDY, value) or not _is_varied(value):
        return False
    if sum(map(len, compile_pattern(_WORDS).findall(value))) * 3 > len(value):
        return False
    kinds = [char.isdigit() + 2 * char.isupper() for char in value if char.isalnum()]
    changes = sum(a != b for a, b in pairwise(kinds))
    return changes * 4 >= len(value)


def _is_named(value: str, before: str) -> bool:
    return _has(_NAMED, before) and _is_varied(value)


def _is_named_random(value: str, before: str) -> bool:
    return _has(_DIGIT, value) and _has(_NAMED, before) and _is_random(value)


def _is_authorized(value: str, before: str) -> bool:
    return "uthorization" in before and _is_varied(value)


def _always(_: str, __: str) -> bool:
    return True


class Rule(NamedTuple):
    """A family of secrets.

    The pattern's first group, or the whole match, is the secret. `is_real` gets the secret and the
    text before it, and rejects placeholders. `is_likely` gets a text with one of the literals, and
    returns whether the pattern could match.
    """

    name: str
    literals: tuple[str, ...]
    pattern: str
    is_real: Callable[[str, str], bool] = _is_varied
    is_likely: Callable[[str], bool] = bool


def _at_least(number: int, chars: str) -> str:
    return f"(?:{chars}{{{number},}}|{chars}{{{_MIN_CUT_CHARS},}}{_CUT})"


def _token(
    name: str,
    prefixes: str,
    chars: str,
    least: int,
    is_real: Callable[[str, str], bool] = _is_varied,
    is_word: bool = False,
) -> Rule:
    """Return a rule for one of `prefixes` followed by at least `least` of `chars`.

    `is_word` demands the start of a word, for prefixes that longer words may end with.
    """
    literals = tuple(prefixes.split())
    escaped = prefixes.replace(".", r"\.").split()  # Not re.escape: importing re takes 8 ms.
    either = "|".join(map(_word, escaped) if is_word else escaped)
    return Rule(name, literals, f"(?:{either}){_at_least(least, chars)}", is_real)


_PEM_BEGIN = "-----BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----"
_PEM_END = "-----END (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----"
_PEM = (
    f"{_PEM_BEGIN}(?:(?:[^-]|-(?!----(?:BEGIN|END) ))*+{_PEM_END}"
    r"|(?:(?:\\[nr]|[^A-Za-z0-9+/=-]){0,20}+[A-Za-z0-9+/=]{12,}+)++"
    r"(?:(?:\\[nr]|\s){0,4}[A-Za-z0-9+/=]{1,64})?)"
)
"""A key block up to its END line, or without one as far as the base64 goes."""

# fmt: off
RULES: tuple[Rule, ...] = (
    Rule("private-key", ("-----BEGIN ",), _PEM, _always),
    Rule("aws-key", ("AKIA", "ASIA"),
         rf"{_word('A[KS]IA')}(?:[A-Z2-7]{{16}}(?![A-Za-z0-9])|[A-Z2-7]{{4,15}}{_CUT})"),
    Rule("aws-secret", ("ecretAccessKey", "ecret_access_key", "ECRET_ACCESS_KEY"),
         rf"{_ASSIGN}((?:[A-Za-z0-9/+]{{40}}(?![A-Za-z0-9/+=])|[A-Za-z0-9/+]{{8,39}}{_CUT}))",
         _is_named),
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
    Rule("slack-token", ("xox", "xapp-"), "(?:xox[abceprs]|xapp)-" + _at_least(16, "[A-Za-z0-9-]")),
    Rule("slack-webhook", ("hooks.slack.com/",),
         r"hooks\.slack\.com/(?:services|workflows|triggers)/([A-Za-z0-9/_-]{12,})"),
    Rule("discord-webhook", ("/api/webhooks/",), r"/api/webhooks/\d{6,20}/([A-Za-z0-9_-]{12,})"),
    Rule("discord-token", ("iscord", "ISCORD"),
         _word("[MNO]", _URL64) + rf"{_URL64}{{23,27}}\.{_URL64}{{6}}\.{_URL64}{{27,}}"),
    Rule("stripe-key", ("k_live_", "k_test_"), "[sr]k_(?:live|test)_" + _at_least(16, _ALNUM)),
    _token("stripe-webhook", "whsec_", "[A-Za-z0-9+/=]", 20),
    Rule("twilio-key", ("SK",),
         rf"{_word('SK')}(?:{_HEX}{{32}}(?![A-Za-z0-9])|{_HEX}{{8,31}}{_CUT})"),
    Rule("sendgrid-key", ("SG.",),
         _word(r"SG\.")
         + rf"(?:{_URL64}{{16,32}}\.(?:{_URL64}{{16,}}|{_URL64}*{_CUT})|{_URL64}{{8,32}}{_CUT})"),
    _token("npm-token", "npm_", _ALNUM, 30, is_word=True),
    _token("pypi-token", "pypi-AgE", _URL64, 40),
    _token("huggingface-token", "hf_", _ALNUM, 30, is_word=True),
    _token("digitalocean-token", "dop_v1_ doo_v1_", _HEX, 32),
    Rule("azure-key", ("AccountKey=",), "AccountKey=([A-Za-z0-9+/]{12,}={0,2})"),
    Rule("azure-sas", ("sig=",),
         rf"[?&;]sig=((?:[A-Za-z0-9%+/]{{30,}}={{0,2}}|[A-Za-z0-9%+/]{{8,}}{_CUT}))"),
    Rule("jwt", ("eyJ",),
         _word("eyJ", _URL64) + rf"{_URL64}{{8,}}+\.eyJ{_URL64}{{6,}}(?:\.{_URL64}*)?", _always),
    Rule("telegram-token", (":AA",), "(?<![0-9])[0-9]{8,10}:AA" + _at_least(32, _URL64)),
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
    Rule("bearer-token", ("earer ", "EARER "),
         r"(?:[Bb]earer|BEARER)[ \t]{1,4}([A-Za-z0-9._~+/=-]{11,}[A-Za-z0-9_~+/=-])",
         _is_key, _has_bearer),
    Rule("basic-auth", ("Basic ", "basic "),
         r"[Bb]asic[ \t]{1,4}([A-Za-z0-9+/]{8,}={0,2})", _is_authorized),
    Rule("basic-auth", (" -u ", "--user "),
         r"-(?:u|-user)[ \t]{1,4}[\"']?[^\s:\"'$<{]{1,100}:([^\s\"'$<{@:/]{8,})", _is_key),
    Rule("url-password", ("://",),
         r"://[^\s/:@\"'<>]{0,100}:(?!\[redacted|//|[0-9]+(?:[^0-9@]|\Z))([^\s/@:\"'<>${}\[\]]{3,})"
         rf"(?:@(?=[A-Za-z0-9\[$<{{])|@?{_CUT})", _is_password, _has_authority),
    Rule("password", ("--pass", "--token", "--secret", "--api-key", "-token ", "-key "),
         rf"(?<!-)--(?=[a-z])[a-z-]{{0,30}}(?:pass[a-z]{{0,6}}|token|secret|key) [\"']?({_VALUE})",
         _is_random, _has_flag),
    Rule("password",
         tuple("assw ASSW assph ecret ECRET oken OKEN redent key KEY Key pwd PWD".split()),
         # A lookahead, because the value may be an assignment itself.
         rf"{_ASSIGN}(?=({_VALUE}))", _is_named_random, _has_assigned),
)
# fmt: on
_LITERALS = tuple((literal, rule) for rule in RULES for literal in rule.literals)


def find(text: str) -> list[Secret]:
    """Return the secrets of a text, in order and without overlaps."""
    if len(text) < _MIN_CHARS:
        return []
    rules = dict.fromkeys([rule for literal, rule in _LITERALS if literal in text])
    secrets = sorted(
        (secret for rule in rules if rule.is_likely(text) for secret in _match(rule, text)),
        key=lambda secret: secret.start,
    )
    return _merge_overlaps(secrets) if secrets else secrets


def _match(rule: Rule, text: str) -> Iterator[Secret]:
    for match in compile_pattern(rule.pattern).finditer(text):
        start, end = match.span(match.lastindex or 0)
        if rule.is_real(text[start:end], text[max(start - _CONTEXT_CHARS, 0) : start]):
            yield Secret(start, end, rule.name)


def _merge_overlaps(secrets: Sequence[Secret]) -> list[Secret]:
    """Return overlapping secrets as one, with the rule of the first, in the order of the table."""
    merged = [secrets[0]]
    for secret in secrets[1:]:
        if secret.start >= merged[-1].end:
            merged.append(secret)
        elif secret.end > merged[-1].end:
            merged[-1] = merged[-1]._replace(end=secret.end)
    return merged

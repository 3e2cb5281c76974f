"""Find secrets in a text by a table of patterns. Pure.

Only secrets with a known form, or behind a name such as `password`, are found. A rule applies only
if the text contains one of its literals. Where the literal is an ordinary word, a cheap check comes
first, so that ordinary text needs no regular expression. Each pattern is anchored by its literal
and has no ambiguous nested repetition, so the time grows linearly with the text.
"""

from __future__ import annotations

from ccgrep import secret_checks as checks
from ccgrep.lazy_re import compile_pattern
from ccgrep.light_typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

_MIN_CHARS = 10
_ID_CHARS = "0123456789abcdef-"
"""The characters of most ids. Every literal has another one, so an id cannot have a secret."""
_ALNUM = "[A-Za-z0-9]"
_URL64 = "[A-Za-z0-9_-]"
_HEX = "[0-9a-f]"
_MIN_CUT_CHARS = 4
_CUT = r"(?=(?:…|\.\.\.)?\Z)"
"""The end of a truncated text, such as a title. There the first characters of a secret suffice."""

_VALUE = "[A-Za-z0-9!#%*+./:?@^_~=-]{11,255}[A-Za-z0-9!#%*+@^_~=-]"
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


class Rule(NamedTuple):
    """A family of secrets.

    The pattern's first group, or the whole match, is the secret. `is_real` gets the secret and the
    text before it, and rejects placeholders. `is_likely` gets a text with one of the literals, and
    returns whether the pattern could match.
    """

    name: str
    literals: tuple[str, ...]
    pattern: str
    is_real: Callable[[str, str], bool] = checks.is_varied
    is_likely: Callable[[str], bool] = bool


def _at_least(number: int, chars: str) -> str:
    return f"(?:{chars}{{{number},}}|{chars}{{{_MIN_CUT_CHARS},}}{_CUT})"


def _token(
    name: str,
    prefixes: str,
    chars: str,
    least: int,
    is_real: Callable[[str, str], bool] = checks.is_varied,
    is_word: bool = False,
) -> Rule:
    """Return a rule for one of `prefixes` followed by at least `least` of `chars`.

    `is_word` demands the start of a word, for prefixes that longer words may end with.
    """
    literals = tuple(prefixes.split())
    escaped = prefixes.replace(".", r"\.").split()  # Not re.escape: importing re takes 8 ms.
    either = "|".join(map(_word, escaped) if is_word else escaped)
    return Rule(name, literals, f"(?:{either}){_at_least(least, chars)}", is_real)


_PUTTY = (
    r"Private-Lines: ?[0-9]{1,4}(?:\\[nr]|\s){1,4}+([A-Za-z0-9+/=]{4,}+(?![-:])"
    r"(?:(?:\\[nr]|\s){1,4}+[A-Za-z0-9+/=]{4,}+(?![-:]))*+)"
)
"""The base64 of a PuTTY key, up to the line `Private-MAC:`."""
_CRYPT64 = "[./A-Za-z0-9]"
_CRYPT = (
    rf"\$(?:[1567y]|gy|apr1)\$(?:rounds=[0-9]{{1,9}}\$)?(?:{_CRYPT64}{{1,16}}\$)?"
    rf"{_CRYPT64}{{1,32}}(?:\${_at_least(22, _CRYPT64)}|\$?{_CUT})"
    rf"|\$2[abxy]\$[0-9]{{2}}\$(?:{_CRYPT64}{{53}}|{_CRYPT64}{{4,52}}{_CUT})"
    rf"|\$argon2(?:id|i|d)\${_at_least(30, '[A-Za-z0-9=,$+/]')}"
)
"""A password as crypt(3), bcrypt or Argon2 hash it."""
_TOLD = "[\"'`*「『“]{0,3}([A-Za-z0-9!#%&*+./:;=?@^_~-]{5,63}[A-Za-z0-9!#%*+@^_~=-])"
"""A password in a sentence."""

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
    Rule("private-key", ("-----BEGIN ",), _PEM, checks.always),
    Rule("private-key", ("Private-Lines:",), _PUTTY, checks.always),
    Rule("aws-key", ("AKIA", "ASIA"),
         rf"{_word('A[KS]IA')}(?:[A-Z2-7]{{16}}(?![A-Za-z0-9])|[A-Z2-7]{{4,15}}{_CUT})"),
    Rule("aws-secret", ("ecretAccessKey", "ecret_access_key", "ECRET_ACCESS_KEY"),
         rf"{checks.ASSIGN}((?:[A-Za-z0-9/+]{{40}}(?![A-Za-z0-9/+=])|[A-Za-z0-9/+]{{8,39}}{_CUT}))",
         checks.is_named),
    _token("github-token", "ghp_ gho_ ghu_ ghs_ ghr_", _ALNUM, 30),
    _token("github-token", "github_pat_", "[A-Za-z0-9_]", 22),
    _token("gitlab-token", "glpat- gldt- glrt-", _URL64, 16),
    _token("anthropic-key", "sk-ant-", _URL64, 16),
    _token("openrouter-key", "sk-or-v1-", _HEX, 32),
    _token("openai-key", "sk-proj- sk-svcacct-", _URL64, 16),
    _token("openai-key", "sk-", _URL64, 20, checks.is_dashed_key, is_word=True),
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
         _word("eyJ", _URL64) + rf"{_URL64}{{8,}}+\.eyJ{_URL64}{{6,}}(?:\.{_URL64}*)?",
         checks.always),
    Rule("telegram-token", (":AA",), "(?<![0-9])[0-9]{8,10}:AA" + _at_least(32, _URL64)),
    _token("shopify-token", "shpat_ shpss_", "[A-Fa-f0-9]", 32),
    _token("databricks-token", "dapi", _HEX, 32, is_word=True),
    _token("vault-token", "hvs. hvb.", _URL64, 24, is_word=True),
    _token("age-key", "AGE-SECRET-KEY-1", "[0-9A-Z]", 40),
    _token("square-token", "sq0atp- sq0csp- EAAAE", _URL64, 22, is_word=True),
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
    _token("replicate-token", "r8_", _ALNUM, 30, is_word=True),
    _token("supabase-key", "sbp_", _HEX, 32, is_word=True),
    _token("supabase-key", "sb_secret_", _URL64, 20),
    _token("perplexity-key", "pplx-", _ALNUM, 40, is_word=True),
    _token("tailscale-key", "tskey-", _URL64, 20, checks.is_key),
    Rule("newrelic-key", ("NRA", "NRI"), "NR(?:A[AK]|I[IQ])-" + _at_least(20, _URL64)),
    Rule("newrelic-key", ("NRAL",),  # a licence key, of the United States or of a region
         rf"(?<![A-Za-z0-9])(?:{_HEX}{{36}}|[a-z]{{2}}[0-9]{{2}}xx{_HEX}{{30}})NRAL"
         "(?![A-Za-z0-9])"),
    Rule("atlassian-token", ("TT3",), "AT[AC]TT3" + _at_least(40, "[A-Za-z0-9_=-]")),
    Rule("doppler-token", ("dp.",),
         _word(r"dp\.") + r"(?:[ps]t|ct|sa|scim|audit)\.(?:[a-z0-9_-]{2,35}\.)?"
         + _at_least(40, _ALNUM)),
    Rule("vercel-token", ("vc", "_blob_rw_"),
         f"(?:{_word('vc[aikpr]_')}|vercel_blob_rw_)" + _at_least(24, "[A-Za-z0-9_]"),
         checks.is_key, checks.has_vercel),
    Rule("vercel-token", ("ercel", "ERCEL"),  # an old one has no prefix
         r"(?:[Vv]ercel|VERCEL)[^\n]{0,60}?(?:oken|OKEN|-t|earer)[^\nA-Za-z0-9]{1,8}"
         r"([A-Za-z0-9]{24})(?![A-Za-z0-9_-])", checks.is_random),
    Rule("fly-token", ("fo1_", "fm1", "fm2_"),
         f"(?:{'|'.join(map(_word, 'fo1_ fm1a_ fm1r_ fm2_'.split()))})"
         + _at_least(30, "[A-Za-z0-9+/=_-]"), checks.is_dashed_key),
    Rule("airtable-token", ("pat",),
         rf"{_word('pat')}{_ALNUM}{{14}}\.({_at_least(60, _HEX)})",
         checks.is_varied, checks.has_airtable),
    Rule("password-hash", ("$",), _CRYPT, checks.is_key, checks.has_crypt),
    Rule("docker-auth", ('"auth',),
         r'"auth\\{0,2}"[ \t]{0,4}:[ \t]{0,4}\\{0,2}"([A-Za-z0-9+/]{8,}={0,2})', checks.is_login),
    Rule("password", ("sshpass",),
         r"sshpass[ \t]{1,4}-p[ \t]{0,4}[\"']?([^\s\"'$<{}]{3,128})", checks.is_password),
    Rule("password", ("PGPASSWORD", "MYSQL_PWD", "SSHPASS", "REDISCLI_AUTH"),
         r"(?:PGPASSWORD|MYSQL_PWD|SSHPASS|REDISCLI_AUTH)=[\"']?([^\s\"'$<>{}()\[\],;]{3,128})",
         checks.is_password),
    Rule("password", ("redis-cli",),
         r"redis-cli[^\n;&|]{0,200}? -a[ \t]{1,4}[\"']?([^\s\"'$<{}]{3,128})", checks.is_password),
    Rule("password", ("mysql", "mariadb"),
         r"(?:mysql|mariadb)[^\n;&|]{0,200}? -p[\"']?([^\s\"'$<{},]{3,128})",
         checks.is_attached_password, checks.has_attached),
    Rule("password", ("machine",),
         r"machine\s{1,8}\S{1,200}\s{1,8}login\s{1,8}\S{1,200}\s{1,8}password\s{1,8}"
         r"[\"']?([^\s\"'$<{}]{3,128})", checks.is_password, checks.has_netrc),
    Rule("password", ("psk",),
         r"(?<![A-Za-z0-9])psk[\"']?[ \t]{0,4}[=:][ \t]{0,4}\\{0,2}[\"']?"
         r"([^\s\"'\\$<>{}()\[\],;]{8,64})", checks.is_typed_password),
    Rule("password", ("assw", "assph"),
         rf"[Pp]ass(?:word|wd|phrase) (?:is|was)(?: set to)?:?[ \t]{{1,4}}{_TOLD}",
         checks.is_told_password, checks.has_told),
    Rule("password", tuple("密码 密碼 口令 パスワード 비밀번호 암호 패스워드".split()),
         "(?:密码|密碼|口令|パスワード|비밀번호|암호|패스워드)[ \t]{0,4}"
         rf"(?:(?:[是为為はが]|는|은|이|가)[ \t]{{0,4}}[:：]?|[:：=])[ \t]{{0,4}}{_TOLD}",
         checks.is_told_password),
    Rule("bearer-token", ("earer ", "EARER "),
         r"(?:[Bb]earer|BEARER)[ \t]{1,4}([A-Za-z0-9._~+/=-]{11,}[A-Za-z0-9_~+/=-])",
         checks.is_key, checks.has_bearer),
    Rule("basic-auth", ("Basic ", "basic "),
         r"[Bb]asic[ \t]{1,4}([A-Za-z0-9+/]{8,}={0,2})", checks.is_authorized),
    Rule("basic-auth", (" -u ", "--user "),
         r"-(?:u|-user)[ \t]{1,4}[\"']?[^\s:\"'$<{]{1,100}:([^\s\"'$<{@:/]{8,})", checks.is_key),
    Rule("url-password", ("://",),
         r"://[^\s/:@\"'<>]{0,100}:(?!\[redacted|//|[0-9]+(?:[^0-9@]|\Z))([^\s/@:\"'<>${}\[\]]{3,})"
         rf"(?:@(?=[A-Za-z0-9\[$<{{])|@?{_CUT})", checks.is_password, checks.has_authority),
    Rule("password", ("--pass", "--token", "--secret", "--api-key", "-token ", "-key "),
         rf"(?<!-)--(?=[a-z])[a-z-]{{0,30}}(?:pass[a-z]{{0,6}}|token|secret|key) [\"']?({_VALUE})",
         checks.is_random, checks.has_flag),
    Rule("password",
         tuple("assw ASSW assph ecret ECRET oken OKEN redent key KEY Key pwd PWD".split()),
         # A lookahead, because the value may be an assignment itself.
         rf"{checks.ASSIGN}(?=({_VALUE}))", checks.is_named_random, checks.has_assigned),
)
# fmt: on
_LITERALS: dict[str, list[Rule]] = {}
for _rule in RULES:
    for _literal in _rule.literals:
        _LITERALS.setdefault(_literal, []).append(_rule)


def find(text: str) -> list[Secret]:
    """Return the secrets of a text, in order and without overlaps."""
    if len(text) < _MIN_CHARS or not text.strip(_ID_CHARS):
        return []
    if not text.isascii():
        text = _narrow(text)
    found = [rules for literal, rules in _LITERALS.items() if literal in text]
    rules = dict.fromkeys(rule for rules in found for rule in rules)
    secrets = sorted(
        (secret for rule in rules if rule.is_likely(text) for secret in _match(rule, text)),
        key=lambda secret: secret.start,
    )
    return _merge_overlaps(secrets) if secrets else secrets


def _narrow(text: str) -> str:
    """Return `text` with ASCII instead of full-width characters, at the same offsets."""
    wide = [char for char in set(text) if "\uff01" <= char <= "\uff5e"]
    return text.translate({ord(char): ord(char) - 0xFEE0 for char in wide}) if wide else text


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

"""Each family of secrets is found and redacted, and ordinary text stays unchanged."""

import re
import time
from collections.abc import Callable, Iterator
from itertools import pairwise, takewhile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ccgrep import secrets
from ccgrep.fulltext.document import MAX_INDEXED_CHARS
from ccgrep.output.record_line import join_parts, plain_snippet
from ccgrep.output.style import Style
from ccgrep.search.snippet import Span, make_snippet
from ccgrep.secrets import RULES
from ccgrep.text import clean, escape, one_line, redact, redact_spans, redact_values, set_redaction
from tests.helpers import scale
from tests.helpers.canaries import FAMILIES, GRAM, canary, grams, leaks

PLACES = (
    "\x1b[31m{}\x1b[0m",
    "q=%3D{}",
    "{}",
    "x {} y",
    "a={}",
    '"{}"',
    "({}),",
    "密钥{}密钥",
    "\n{}\n",
    "`{}`",
    "\\n{}\\n",
    "{}.",
)
ORDINARY = [
    "sk-...",
    "sk-ant-...",
    "set OPENAI_API_KEY=sk-your-key-here",
    "your-api-key-here",
    "AKIA" + "IOSFODNN7EXAMPLE",
    "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY is AWS's example",
    "Authorization: Bearer $TOKEN",
    "Authorization: Bearer ${TOKEN}",
    "Authorization: Bearer <token>",
    "Authorization: Bearer YOUR_ACCESS_TOKEN_GOES_HERE",
    "bearer authentication in microservices",
    "password=$PASSWORD",
    'password = os.environ["DB_PASSWORD_2"]',
    "password: ${{ secrets.DEPLOY_KEY_2 }}",
    "token: ${{ secrets.GITHUB_TOKEN }}",
    "PASSWORD=changeme123456",
    "api_key=YOUR_API_KEY_123",
    "postgres://user:password@localhost:5432/db",
    "postgres://$USER:$PASSWORD@db/shop",
    "https://example.com:8443/path@v2",
    "http://localhost:3000",
    "git@github.com:sam/shop.git",
    "commit 9fceb02d0ae598e95dc970b74767f19372d61af8",
    "id 550e8400-e29b-41d4-a716-446655440000",
    "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "integrity sha512-z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg/SpIdNs6c5H0NE8XYXysP==",
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
    "task-2048-abcdefghijklmnop-loader",
    "the disk-encryption-at-rest-feature-2 flag",
    "class sk-estimator-doc-link-container-2 of sklearn",
    "def next_token(self): return self.tokens[self.position_2]",
    "max_tokens=4096, token_count: 128000",
    "secret_key_base: rails credentials:edit",
    "tokenizer: sentence-transformers/all-MiniLM-L6-v2",
    "token: process.env.GITHUB_TOKEN2",
    "-----BEGIN PUBLIC KEY-----\nMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE\n-----END PUBLIC KEY-----",
    "-----BEGIN CERTIFICATE-----\nMIIBszCCAVmgAwIBAgIUQ2\n-----END CERTIFICATE-----",
    "what does -----BEGIN RSA PRIVATE" + " KEY----- mean at the top of a file?",
    "ghp_ is the prefix of a token",
    "npm_config_registry and npm_package_version",
    "hf_hub_download(repo_id)",
    "basic authorization is enough here",
    "the key-value store; key-by-key",
    "f8a5fac0:3:jwt:9c1f0be2a4d7",
    "eyJ is how base64 of a JSON object begins",
    "the password is required",
    "the password is stored as SHA256-digest",
    "password is base64-encoded",
    "the password is 12characters long",
    "password is argon2id-hashed",
    "the password is config.DB_PASSWORD2",
    "passphrase is $PASSPHRASE1",
    "the password is abc",
    "the password is correct!",
    "password is WRONG!",
    "the password is case-sensitive, isn't it?",
    "password is UTF-8-encoded",
    "password is NOT-NULL",
    "the password is user.Password#hash",
    "the password is sent to sam@example.com",
    "the password is required&validated",
    "vercel project prj_aBcDeFgHiJkLmNoPqRsT1234",
    "vercel token of the team: team_aB3dE5gH7jK9mN1pQ3sT5vW7",
    "NR" + "AL is the end of a licence key",
    "密码是必填项",
    "密码：请输入8位",
    "密码是SHA256加密的",
    "パスワードは8文字以上です",
    "비밀번호는 8자 이상이어야 합니다",
    "default login and password fields2",
    "mysql -u root -p shop",
    "docker run --name mysql -p3306:3306 mysql:8",
    "mysql -p$MYSQL_PWD1",
    "mysql --protocol=tcp --port=3306 -port3306",
    "sshpass -p $SSHPASS1 ssh host",
    "export PGPASSWORD=$(pass show db)",
    "PGPASSWORD=<password> psql",
    "redis-cli -a $REDIS_PASSWORD1 ping",
    "AGFzbQEAAAABhgEUYAEAAEAAAEAF8gEAAAEAAAEAAAEhYAJ/AAxEAAAEgEAAAEAAAAEAAAEAAA",
    '"auth": "required"',
    '"auth": "anonymous"',
    '"authorization": "c2FtOmh1bnRlcjIyMjI="',
    "psk=None",
    "psk: string",
    "psk=settings.psk2",
    "psk = get_psk(ssid_2)",
    "s/(.*)-(.*)/$1$2/g and $5$6$7",
    "echo $1$suffix$2/with/a/long/path/behind/it/and/more",
    "sk-button-container-1a2b3c4d5e6f",
    "path.with.patterns.and.a.file",
    "$2b is a variable",
    "dp.pt.x = dp.st.y",
    "machine learning login page with a password field",
    "fm2_synthesis_of_sounds_and_more_words",
    "ＡＢＣ１２３、全角の文字",
]


@pytest.fixture(autouse=True)
def redact_by_default() -> None:
    set_redaction(True)


@pytest.mark.parametrize("family", FAMILIES)
def test_secret_of_each_family_is_redacted_whole_in_every_context(family: str) -> None:
    for seed in range(scale.of(20, 500)):
        secret = canary(family, seed)
        for place in PLACES:
            shown = redact(place.format(secret.text))
            assert shown == place.format(secret.text).replace(
                secret.value, f"[redacted:{secret.rule}]"
            )


@pytest.mark.parametrize("text", ORDINARY)
def test_placeholders_hashes_and_code_stay_unchanged(text: str) -> None:
    assert redact(text) == text


def test_every_literal_has_a_character_that_ids_lack() -> None:
    """So `find` may skip a text that looks like an id."""
    assert all(literal.strip(secrets._ID_CHARS) for rule in RULES for literal in rule.literals)


@pytest.mark.parametrize("family", ["anthropic", "github classic", "sshpass", "told", "bcrypt"])
def test_full_width_letters_hide_no_secret(family: str) -> None:
    """Whatever a keyboard or an attacker made of them."""
    secret = canary(family, 1)
    wide = {code: code + 0xFEE0 for code in range(0x21, 0x7F)}
    text = f"見て {secret.text} です".replace(secret.value, secret.value.translate(wide))
    assert redact(text) == f"見て {secret.text} です".replace(
        secret.value, f"[redacted:{secret.rule}]"
    )


def test_redaction_is_idempotent() -> None:
    for family in FAMILIES:
        once = redact(canary(family, 1).text)
        assert redact(once) == once


WITHOUT_PREFIX = {"discord bot", "new relic licence", "told without a digit"}
"""Families whose secrets have no beginning by which a truncated one could be recognized."""


@pytest.mark.parametrize("family", FAMILIES)
def test_truncated_secret_is_redacted(family: str) -> None:
    for seed in range(scale.of(2, 20)):
        secret = canary(family, seed)
        others = zip(*(canary(family, other).value for other in range(9)), strict=False)
        public = len(list(takewhile(lambda chars: len(set(chars)) == 1, others)))
        known = grams([secret._replace(value=secret.value[public:])])
        text = f"a title {secret.text}"
        for end in range(text.index(secret.value) + public + GRAM, len(text)):
            for dots in ("", "…"):
                assert family in WITHOUT_PREFIX or leaks(known, redact(text[:end] + dots)) == []


FILLER = st.lists(
    st.sampled_from(
        ["ok", "the next word", "\n", "密钥在这里", "🙂", "x" * 70, "a-b_c", "=", "\\n"]
    )
    | st.text(max_size=8),
    max_size=30,
).map(" ".join)
NEAR = st.sampled_from(["", " ", "\n", "\r\n", "，", "。", "(", '"', "\x1b[31m", "\\n", "\u200b"])


@settings(max_examples=scale.of(150, 10_000), deadline=None)
@given(st.data())
def test_no_snippet_width_colour_or_context_leaks_part_of_a_secret(data: st.DataObject) -> None:
    family = data.draw(st.sampled_from(sorted(FAMILIES)))
    secret = canary(family, data.draw(st.integers(0, 10**6)))
    before, after = data.draw(FILLER), data.draw(FILLER)
    if data.draw(st.integers(0, 40)) == 0:
        before = "word " * (MAX_INDEXED_CHARS // 5 - data.draw(st.integers(0, 40)))
    text = f"{before} {data.draw(NEAR)}{secret.text}{data.draw(NEAR)} {after}"
    ends = st.integers(
        max(len(before) - 50, 0), min(len(before) + len(secret.text) + 60, len(text))
    )
    spans = sorted({Span(*sorted((data.draw(ends), data.draw(ends)))) for _ in range(4)})
    apart = [b for a, b in pairwise([Span(0, 0), *spans]) if b.start >= a.end and b.end > b.start]
    known = grams([secret])
    width = data.draw(st.integers(1, 400))
    pieces = make_snippet(text, apart, width)
    style = Style(data.draw(st.booleans()))
    outputs = [
        "".join(piece.text for piece in pieces),
        re.sub(r"\x1b\[[0-9;]*m", "", join_parts(pieces, width, style)),
        plain_snippet(text, width),
        *(piece.text for piece in pieces),
    ]
    shown, moved = redact_spans(text, [(span.start, span.end) for span in apart])
    outputs += [shown[start:end] for start, end in moved]
    assert [leaks(known, output) for output in outputs] == [[]] * len(outputs)
    assert all(0 <= start <= end <= len(shown) for start, end in moved)


def test_every_output_function_redacts() -> None:
    secret = canary("github classic", 1)
    for text in (secret.text, f"{secret.text}\x1b", f"密钥{secret.text}"):
        for function in (escape, one_line, clean, redact):
            assert "[redacted:github-token]" in function(text)
            assert leaks(grams([secret]), function(text)) == []
    hidden = secret.text[:20] + "\u200b" + secret.text[20:]
    assert clean(hidden) == "[redacted:github-token]"
    set_redaction(False)
    assert escape(secret.text) == secret.text


def test_json_values_are_redacted_by_their_field_names_too() -> None:
    secret, token = canary("password", 1), canary("npm", 1)
    given = {"db": [{"password": secret.value, "n": 1}], token.value: None, "password": 5}
    assert redact_values(given) == {
        "db": [{"password": "[redacted:password]", "n": 1}],
        "[redacted:npm-token]": None,
        "password": 5,
    }
    assert redact_values({"note": secret.value}) == {"note": secret.value}


def slow_texts(size: int) -> Iterator[str]:
    """Yield texts that would make an ambiguous pattern backtrack."""
    for literal in (literal for rule in RULES for literal in rule.literals):
        for text in (literal, f"{literal}a1", f"{literal} ", f"x{literal}A1b2C3d4E5f6G7h8"):
            yield text * (size // len(text))
        yield literal + "aB3" * (size // 3)
    pem = "-----BEGIN RSA PRIVATE" + " KEY-----\n"
    for text in ("=a1B2", "password=", pem, "eyJaaaaaaaa.", "://a:b"):
        yield "token" + text * (size // len(text))


def test_time_grows_linearly_with_text(figure: Callable[[str], None]) -> None:
    """The limit is about eighty times the usual. A quadratic pattern would exceed it."""
    size, slowest_s = scale.of(20_000, 300_000), 0.0
    for text in slow_texts(size):
        started_s = time.process_time()
        secrets.find(text)
        slowest_s = max(slowest_s, time.process_time() - started_s)
    figure(f"secrets: the slowest of {size // 1000} KB took {slowest_s:.2f} s")
    assert slowest_s < scale.of(10, 60)


_NAMES = ("api_key", "password", "PWD", "x-token", "Secret", "credential", "colour", "--api-key")
_SIGNS = ("=", ": ", " = ", "=>", ' := "', "': '", " ", "\t:\t", "=\n")
_URLS = ("https://me:{}@host/x", "postgres://u:{}", "see http://h:80/{} now", "a://b c:{}@d")


@given(
    st.sampled_from(_NAMES),
    st.sampled_from(_SIGNS),
    st.text(st.sampled_from("aB3-_/.:=@k Z9"), max_size=40),
    st.sampled_from(("{}", "Bearer {}", "bearer\t{}", "--token {}", *_URLS)),
    st.sampled_from(("", " and so on…", " x=1 key: 2")),
)
@settings(max_examples=scale.of(250, 20_000), deadline=None)
def test_cheap_checks_before_patterns_miss_no_secret(
    name: str, sign: str, value: str, place: str, after: str
) -> None:
    text = f"then {name}{sign}{place.format(value)}{after}"
    rules = [rule for rule in RULES if any(literal in text for literal in rule.literals)]
    likely = [rule for rule in rules if rule.is_likely(text)]
    assert {secret for rule in likely for secret in secrets._match(rule, text)} == {
        secret for rule in rules for secret in secrets._match(rule, text)
    }

"""Made-up secrets of every family, assembled at run time so that no scanner finds one here."""

import base64
import json
import random
import string
from collections.abc import Callable, Iterable
from typing import NamedTuple

_ALNUM = string.ascii_letters + string.digits
_URL64 = _ALNUM + "_-"
_BASE64 = _ALNUM + "+/"
_HEX = "0123456789abcdef"
_BASE32 = string.ascii_uppercase + "234567"


class Canary(NamedTuple):
    """A secret, and a realistic text that contains it."""

    rule: str
    value: str
    text: str


def _random_text(chars: str, count: int) -> Callable[[random.Random], str]:
    def draw(source: random.Random) -> str:
        # Secrets without a digit, or with a word in them, are rare in practice.
        return (
            "".join(source.choice(chars) for _ in range(count - 2))
            + source.choice("23456789")
            + "k"
        )

    return draw


def _mixed(count: int) -> Callable[[random.Random], str]:
    """Draw text without words, like a generated password."""

    def draw(source: random.Random) -> str:
        kinds = (string.ascii_uppercase, string.ascii_lowercase, string.digits)
        return "".join(source.choice(kinds[at % 3]) for at in range(count))

    return draw


def _jwt(source: random.Random) -> str:
    def part(value: object) -> str:
        return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")

    head, body = {"alg": "HS256", "typ": "JWT"}, {"sub": source.randrange(10**9), "name": "sam"}
    return f"{part(head)}.{part(body)}.{_random_text(_URL64, 43)(source)}"


def _pem(kind: str) -> Callable[[random.Random], str]:
    def make(source: random.Random) -> str:
        lines = [_random_text(_BASE64, 64)(source) for _ in range(6)]
        dashes = "-" * 5
        body = "\n".join([*lines, _random_text(_BASE64, 30)(source) + "=="])
        return f"{dashes}BEGIN {kind}{dashes}\n{body}\n{dashes}END {kind}{dashes}"

    return make


def _prefixed(prefix: str, chars: str, count: int) -> Callable[[random.Random], str]:
    draw = _random_text(chars, count)
    return lambda source: prefix + draw(source)


def _joined(*parts: Callable[[random.Random], str]) -> Callable[[random.Random], str]:
    return lambda source: "".join(part(source) for part in parts)


def _as(text: str) -> Callable[[random.Random], str]:
    return lambda _: text


_KEY = "PRIVATE" + " KEY"
FAMILIES: dict[str, tuple[str, Callable[[random.Random], str], str]] = {
    "aws access key": (
        "aws-key",
        lambda r: "AK" + "IA" + "".join(r.choices(_BASE32, k=14)) + "4Q",
        "{}",
    ),
    "aws session key": (
        "aws-key",
        lambda r: "AS" + "IA" + "".join(r.choices(_BASE32, k=14)) + "4Q",
        "{}",
    ),
    "aws secret": ("aws-secret", _random_text(_BASE64, 40), "aws_secret_access_key = {}"),
    "aws secret in JSON": ("aws-secret", _random_text(_BASE64, 40), '"SecretAccessKey": "{}"'),
    "github classic": ("github-token", _prefixed("gh" + "p_", _ALNUM, 36), "{}"),
    "github oauth": ("github-token", _prefixed("gh" + "o_", _ALNUM, 36), "{}"),
    "github server": ("github-token", _prefixed("gh" + "s_", _ALNUM, 36), "{}"),
    "github refresh": ("github-token", _prefixed("gh" + "r_", _ALNUM, 76), "{}"),
    "github fine-grained": ("github-token", _prefixed("github" + "_pat_", _ALNUM + "_", 82), "{}"),
    "gitlab": ("gitlab-token", _prefixed("gl" + "pat-", _URL64, 20), "{}"),
    "openai": ("openai-key", _prefixed("sk" + "-", _ALNUM, 48), "{}"),
    "openai project": ("openai-key", _prefixed("sk" + "-proj-", _URL64, 120), "{}"),
    "anthropic": ("anthropic-key", _prefixed("sk" + "-ant-api03-", _URL64, 95), "{}"),
    "openrouter": (
        "openrouter-key",
        lambda r: "sk" + "-or-v1-" + "".join(r.choices(_HEX, k=64)),
        "{}",
    ),
    "google api": ("google-key", _prefixed("AI" + "za", _URL64, 35), "{}"),
    "google oauth": ("google-token", _prefixed("ya" + "29.", _URL64, 120), "{}"),
    "google client": ("google-client-secret", _prefixed("GOC" + "SPX-", _URL64, 28), "{}"),
    "gcp service account": ("private-key", _pem(_KEY), '{{"private_key": "{}"}}'),
    "slack bot": ("slack-token", _prefixed("xo" + "xb-2048-4096-", _ALNUM, 24), "{}"),
    "slack user": ("slack-token", _prefixed("xo" + "xp-2048-4096-", _ALNUM, 32), "{}"),
    "slack webhook": (
        "slack-webhook",
        _prefixed("T0AB12/B0CD34/", _ALNUM, 24),
        "https://hooks." + "slack.com/services/{}",
    ),
    "discord webhook": (
        "discord-webhook",
        _random_text(_URL64, 68),
        "https://discord.com/api/web" + "hooks/827364512/{}",
    ),
    "discord bot": (
        "discord-token",
        _joined(
            _as("MT"),
            _random_text(_ALNUM, 24),
            _as("."),
            _random_text(_URL64, 6),
            _as("."),
            _random_text(_URL64, 38),
        ),
        "the discord bot has {}",
    ),
    "stripe live": ("stripe-key", _prefixed("sk" + "_live_", _ALNUM, 24), "{}"),
    "stripe restricted": ("stripe-key", _prefixed("rk" + "_live_", _ALNUM, 24), "{}"),
    "stripe webhook": ("stripe-webhook", _prefixed("wh" + "sec_", _ALNUM, 32), "{}"),
    "twilio": ("twilio-key", lambda r: "S" + "K" + "".join(r.choices(_HEX, k=32)), "{}"),
    "twilio auth": (
        "basic-auth",
        lambda r: "".join(r.choices(_HEX, k=29)) + "a1b",
        "curl -u AC" + "0a1b2c3d4e5f60718293a4b5c6d7e8f9:{} https://api.twilio.example",
    ),
    "sendgrid": (
        "sendgrid-key",
        _joined(_as("S" + "G."), _random_text(_URL64, 22), _as("."), _random_text(_URL64, 43)),
        "{}",
    ),
    "npm": ("npm-token", _prefixed("np" + "m_", _ALNUM, 36), "//registry.npmjs.org/:_authToken={}"),
    "pypi": ("pypi-token", _prefixed("py" + "pi-AgEIcHlwaS5vcmc", _URL64, 130), "{}"),
    "hugging face": ("huggingface-token", _prefixed("h" + "f_", _ALNUM, 34), "{}"),
    "digitalocean": (
        "digitalocean-token",
        lambda r: "do" + "p_v1_" + "".join(r.choices(_HEX, k=64)),
        "{}",
    ),
    "azure storage": (
        "azure-key",
        lambda r: _random_text(_BASE64, 86)(r) + "==",
        "AccountName=shop;Account" + "Key={};EndpointSuffix=core.windows.net",
    ),
    "azure sas": (
        "azure-sas",
        lambda r: _random_text(_ALNUM, 43)(r) + "%3D",
        "?sv=2024&se=2026&si" + "g={}",
    ),
    "jwt": ("jwt", _jwt, "{}"),
    "pem rsa": ("private-key", _pem("RSA " + _KEY), "{}"),
    "pem openssh": ("private-key", _pem("OPENSSH " + _KEY), "{}"),
    "url password": ("url-password", _mixed(14), "postgres://app:{}@db.example.com/shop"),
    "bearer": ("bearer-token", _mixed(40), "Authorization: Bearer {}"),
    "basic": (
        "basic-auth",
        lambda r: base64.b64encode(f"sam:{_random_text(_ALNUM, 13)(r)}".encode()).decode(),
        "Authorization: Basic {}",
    ),
    "password": ("password", _mixed(20), "DB_PASSWORD={}"),
    "api key in YAML": (
        "password",
        lambda r: "".join(f"{r.choice(_HEX[10:])}{r.choice(_HEX[:10])}" for _ in range(16)),
        "api_key: {}",
    ),
    "token in JSON": ("password", _mixed(32), '"auth_token": "{}"'),
    "password as an option": ("password", _mixed(18), "psql --password {} shop"),
    "telegram": ("telegram-token", _prefixed("81726354:" + "AA", _URL64, 33), "{}"),
    "shopify": ("shopify-token", lambda r: "shp" + "at_" + "".join(r.choices(_HEX, k=32)), "{}"),
    "databricks": (
        "databricks-token",
        lambda r: "da" + "pi" + "".join(r.choices(_HEX, k=32)),
        "{}",
    ),
    "vault": ("vault-token", _prefixed("hv" + "s.", _URL64, 90), "{}"),
    "age": ("age-key", lambda r: "AGE-SECRET-" + "KEY-1" + "".join(r.choices(_BASE32, k=58)), "{}"),
    "square": ("square-token", _prefixed("sq0" + "atp-", _URL64, 22), "{}"),
    "mailgun": ("mailgun-key", lambda r: "ke" + "y-" + "".join(r.choices(_HEX, k=32)), "{}"),
    "linear": ("linear-key", _prefixed("lin" + "_api_", _ALNUM, 40), "{}"),
    "notion": ("notion-token", _prefixed("nt" + "n_", _ALNUM, 46), "{}"),
    "figma": ("figma-token", _prefixed("fig" + "d_", _URL64, 40), "{}"),
    "postman": ("postman-key", lambda r: "PM" + "AK-" + "".join(r.choices(_HEX, k=58)), "{}"),
    "grafana": ("grafana-token", _prefixed("gl" + "sa_", _ALNUM, 41), "{}"),
    "docker": ("docker-token", _prefixed("dckr" + "_pat_", _URL64, 27), "{}"),
    "sentry": ("sentry-token", _prefixed("snt" + "rys_", _ALNUM, 60), "{}"),
    "groq": ("groq-key", _prefixed("gs" + "k_", _ALNUM, 52), "{}"),
    "xai": ("xai-key", _prefixed("xa" + "i-", _ALNUM, 80), "{}"),
    "hexadecimal": ("openai-key", lambda r: "sk" + "-" + "".join(r.choices(_HEX, k=32)), "{}"),
    "replicate": ("replicate-token", _prefixed("r" + "8_", _ALNUM, 37), "{}"),
    "supabase": ("supabase-key", lambda r: "sb" + "p_" + "".join(r.choices(_HEX, k=40)), "{}"),
    "supabase secret": ("supabase-key", _prefixed("sb" + "_secret_", _URL64, 31), "{}"),
    "perplexity": ("perplexity-key", _prefixed("pp" + "lx-", _ALNUM, 48), "{}"),
    "tailscale": (
        "tailscale-key",
        _joined(_as("ts" + "key-auth-k"), _mixed(12), _as("CNTRL-"), _random_text(_ALNUM, 32)),
        "{}",
    ),
    "new relic": (
        "newrelic-key",
        _prefixed("NR" + "AK-", string.ascii_uppercase + string.digits, 27),
        "{}",
    ),
    "new relic licence": (
        "newrelic-key",
        lambda r: "".join(r.choices(_HEX, k=36)) + "NR" + "AL",
        "license_key: {}",
    ),
    "atlassian": ("atlassian-token", _prefixed("ATA" + "TT3xFfGF0", _URL64, 180), "{}"),
    "doppler": ("doppler-token", _prefixed("dp" + ".pt.", _ALNUM, 43), "{}"),
    "doppler service": ("doppler-token", _prefixed("dp" + ".st.prd.", _ALNUM, 43), "{}"),
    "vercel": ("vercel-token", _joined(_as("vc" + "p_"), _mixed(56)), "{}"),
    "vercel of old": ("vercel-token", _mixed(24), "vercel deploy --prod --token {}"),
    "fly": ("fly-token", _prefixed("fo" + "1_", _URL64, 43), "{}"),
    "fly macaroon": ("fly-token", _prefixed("fm" + "2_lJPECAAAAAAA", _ALNUM, 120), "FlyV1 {}"),
    "airtable": (
        "airtable-token",
        lambda r: "".join(r.choices(_HEX, k=64)),
        "pa" + "tOn8Rm9Mz3Ub8Kv.{}",
    ),
    "sshpass": ("password", _mixed(14), "sshpass -p '{}' ssh root@db.example.com"),
    "environment": ("password", _mixed(9), "PGPASSWORD={} psql -h db shop"),
    "redis": ("password", _mixed(9), "redis-cli -h cache -a {} ping"),
    "mysql": ("password", _mixed(14), "mysqldump -h db -u root -p{} shop"),
    "netrc": ("password", _mixed(16), "machine api.example.com\n  login sam\n  password {}\n"),
    "docker auth": (
        "docker-auth",
        lambda r: base64.b64encode(f"sam:{_mixed(20)(r)}".encode()).decode(),
        '{{"auths": {{"ghcr.io": {{"auth": "{}"}}}}}}',
    ),
    "wi-fi": ("password", _mixed(16), 'network={{ ssid="home" psk="{}" }}'),
    "told": ("password", _mixed(14), "the password is {} for now"),
    "told without a digit": (
        "password",
        lambda r: "-".join("".join(r.choices(string.ascii_letters, k=6)) for _ in "ab") + "-Ab%k",
        "the password is {} for now",
    ),
    "told in Chinese": ("password", _mixed(14), "数据库密码是{}，别忘了"),
    "told in Japanese": ("password", _mixed(14), "パスワードは「{}」です"),
    "told in Korean": ("password", _mixed(14), "비밀번호는 {} 입니다"),
    "sha512 crypt": (
        "password-hash",
        lambda r: f"$6${_mixed(16)(r)}${_random_text(_ALNUM + './', 86)(r)}",
        "root:{}:19000:0:99999:7:::",
    ),
    "yescrypt": (
        "password-hash",
        lambda r: f"$y$j9T${_mixed(22)(r)}${_random_text(_ALNUM + './', 43)(r)}",
        "sam:{}:20000:0:99999:7:::",
    ),
    "bcrypt": (
        "password-hash",
        lambda r: f"$2b$12${_random_text(_ALNUM + './', 53)(r)}",
        "admin:{}",
    ),
    "argon2": (
        "password-hash",
        lambda r: f"$argon2id$v=19$m=65536,t=3,p=4${_mixed(22)(r)}${_random_text(_BASE64, 43)(r)}",
        "{}",
    ),
    "putty": (
        "private-key",
        lambda r: "\n".join(_random_text(_BASE64, 64)(r) for _ in range(4)),
        "Public-Lines: 1\nAAAAC3NzaC1lZDI1NTE5\nPrivate" + "-Lines: 4\n{}\nPrivate-MAC: 0a1b",
    ),
}
"""For each family: the rule that finds it, a generator, and a text around it."""


def canary(family: str, seed: int) -> Canary:
    """Return a secret of a family, a different one for each seed."""
    rule, draw, text = FAMILIES[family]
    value = draw(random.Random(f"{family} {seed}"))
    return Canary(rule, value, text.format(value))


GRAM = 12


def grams(secrets: Iterable[Canary]) -> dict[str, Canary]:
    """Return every useful part of the secrets, with its secret.

    A part that several secrets share is a common prefix, not a secret.
    """
    owners: dict[str, set[Canary]] = {}
    for secret in secrets:
        for line in secret.value.split("\n"):
            if line.startswith("-----"):
                continue
            for at in range(len(line) - GRAM + 1):
                owners.setdefault(line[at : at + GRAM], set()).add(secret)
    return {gram: secret for gram, (secret, *others) in owners.items() if not others}


def leaks(known: dict[str, Canary], text: str) -> list[Canary]:
    """Return the secrets of which a text contains a part."""
    found = (known.get(text[at : at + GRAM]) for at in range(len(text) - GRAM + 1))
    return list(dict.fromkeys(secret for secret in found if secret is not None))


def is_whole(secret: Canary, text: str) -> bool:
    """Return whether a text contains all lines of a secret."""
    return all(line in text for line in secret.value.split("\n"))

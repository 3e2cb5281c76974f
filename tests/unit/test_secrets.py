"""Secrets by their shapes: each family is found, and ordinary text stays as it is."""

import pytest

from ccgrep.text import redacted, show_secrets
from tests import scale
from tests.canaries import FAMILIES, canary

AROUND = (
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
    "eyJ is how base64 of a JSON object begins",
]


@pytest.fixture(autouse=True)
def redacting() -> None:
    show_secrets(False)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_secret_of_each_family_is_found_whole_wherever_it_stands(family: str) -> None:
    for seed in range(scale.of(20, 500)):
        secret = canary(family, seed)
        for around in AROUND:
            shown = redacted(around.format(secret.text))
            assert shown == around.format(secret.text).replace(
                secret.value, f"[redacted:{secret.rule}]"
            )


@pytest.mark.parametrize("text", ORDINARY)
def test_placeholders_hashes_and_code_stay_as_they_are(text: str) -> None:
    assert redacted(text) == text


def test_redaction_is_idempotent() -> None:
    for family in FAMILIES:
        once = redacted(canary(family, 1).text)
        assert redacted(once) == once

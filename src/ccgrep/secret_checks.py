"""Checks for the rules of `secrets`: whether a text may have a secret, and whether one is real.

Texts that may have one cost a regular expression. Placeholders, names and numbers are not real.
"""

from __future__ import annotations

from itertools import pairwise

from ccgrep.lazy_re import compile_pattern

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
ASSIGN = r"""[=:]{1,2}>?[ \t]{0,4}\\{0,2}["'`]?"""
_NAME_PARTS = ("pass", "pwd", "secret", "token", "credential", "key")
"""Each of `_NAMES` contains one of these."""
_NAMED = rf"(?i:{_NAMES})[A-Za-z0-9_-]{{0,20}}\\{{0,2}}[\"'`]?[ \t]{{0,4}}{ASSIGN}$"
"""A name of a secret, and everything between it and its value."""
_WORDY = r"^(?:[A-Za-z_]+\d{0,2}[.:/])+|^[\d.,:/TZ+-]+$"
"""Dotted names, paths, numbers and times."""
_TECHNICAL = (
    rf"{_WORDY}|(?i:^(?:sha|md|base|utf|aes|rsa|argon|pbkdf|bcrypt|scrypt|ascii|iso|oauth|http|x)"
    r"-?[0-9])|^[0-9]+-?[A-Za-z]+$|^[A-Za-z]+_[A-Za-z_]*[0-9]*$"
)
"""Formats, sizes and names of variables, where a password might be."""
_VERCEL = ("vca_", "vci_", "vck_", "vcp_", "vcr_", "_blob_rw_")
_CRYPT = tuple("$1$ $5$ $6$ $7$ $y$ $gy$ $apr1$ $2a$ $2b$ $2x$ $2y$ $argon2".split())
_TOLD = tuple(f"{name} {verb}" for name in ("word", "wd", "phrase") for verb in ("is", "was"))
_SYMBOL = "[!#%^~@]"
"""Characters of passwords that ordinary words rarely have."""
_INSIDE = "[A-Za-z][!#%^~][A-Za-z]"
_DIGIT = "[0-9]"
_WORDS = "[a-z]{5,}"
_RUN = "[A-Za-z0-9_]{8,}"


def _is_long(word: str) -> bool:
    """Return whether a word is long enough for a secret value and has a digit."""
    return len(word) > 11 and any(map(str.isdigit, word))


def has_airtable(text: str) -> bool:
    return any(rest[:14].isalnum() and rest[14:15] == "." for rest in text.split("pat")[1:])


def has_vercel(text: str) -> bool:
    return any(prefix in text for prefix in _VERCEL)


def has_crypt(text: str) -> bool:
    return text.count("$") > 1 and any(prefix in text for prefix in _CRYPT)


def has_told(text: str) -> bool:
    return any(words in text for words in _TOLD)


def has_netrc(text: str) -> bool:
    return "login" in text and "password" in text


def has_attached(text: str) -> bool:
    return " -p" in text


def has_flag(text: str) -> bool:
    return any("--" in flag and _is_long(word) for flag, word in pairwise(text.split()))


def has_bearer(text: str) -> bool:
    pairs = pairwise(text.split())
    return any(word.lower().endswith("bearer") and _is_long(value) for word, value in pairs)


def has_assigned(text: str) -> bool:
    words = ["", "", *text.split()]
    for name, before, word in zip(words, words[1:], words[2:], strict=False):
        is_sign = before.endswith(("=", ":", ">"))
        value = word if is_sign else word.replace("=", ":").partition(":")[2]
        if _is_long(value) and any(part in f"{name}{before}{word}".lower() for part in _NAME_PARTS):
            return True
    return False


def has_authority(text: str) -> bool:
    """Return whether the text has a URL that may contain a password."""
    for rest in text.split("://")[1:]:
        authority = rest.partition("/")[0]
        if ":" in authority and ("@" in authority or authority == rest):
            return True
    return False


def _has(pattern: str, text: str) -> bool:
    return bool(compile_pattern(pattern).search(text))


def is_varied(value: str, _: str = "") -> bool:
    """Return whether a value has enough different characters and is no placeholder."""
    return len(set(value)) >= min(8, len(value) // 2) and not _has(_PLACEHOLDERS, value)


def is_key(value: str, _: str) -> bool:
    """Return whether a value is varied and has a run that dashed words do not have."""
    runs = compile_pattern(_RUN).findall(value)
    return any(_has(_DIGIT, run) for run in runs) and is_varied(value)


def is_dashed_key(value: str, _: str) -> bool:
    """Return the same as `is_key`, but demand capitals, or hexadecimal digits without dashes."""
    runs = compile_pattern(_RUN).findall(value)
    has_key = any(not run.islower() for run in runs) or _has(r"^sk-(?=\D*\d)[0-9a-f]{8,}$", value)
    return has_key and is_varied(value)


def is_password(value: str, _: str) -> bool:
    return value.lower() not in _DUMMIES and not _has(_PLACEHOLDERS, value)


def is_typed_password(value: str, before: str) -> bool:
    """Return whether a word has letters and digits, and is no name, size, format or port."""
    has_both = _has(_DIGIT, value) and _has("[A-Za-z]", value)
    return has_both and not _has(_TECHNICAL, value) and is_password(value, before)


def is_told_password(value: str, before: str) -> bool:
    """Return whether a word in a sentence is a password: it mixes kinds of characters."""
    if is_typed_password(value, before):
        return True
    capitals = _has("[A-Z]", value[1:]) and _has("[a-z]", value) and _has(_SYMBOL, value)
    is_mixed = capitals or _has(_INSIDE, value)
    return is_mixed and len(value) > 7 and not _has(_WORDY, value) and is_password(value, before)


def is_attached_password(value: str, before: str) -> bool:
    """Return whether the value of `mysql -p…` is a password, and not a port or a longer option."""
    return not _has(r"^[0-9.:/]+$|^(?:assword|ort|rotocol)", value) and is_password(value, before)


def is_login(value: str, _: str) -> bool:
    """Return whether a value is `user:password` in base64."""
    from binascii import a2b_base64  # noqa: PLC0415 - only for this rule

    whole = value[: len(value) // 4 * 4]
    login = a2b_base64(whole).decode("latin-1") if "=" not in whole[:-2] else ""
    return ":" in login and login.isprintable() and login.isascii()


def is_random(value: str, _: str = "") -> bool:
    """Return whether a value mixes kinds of characters, unlike a name, path, number or call."""
    if not _has(_DIGIT, value) or _has(_WORDY, value) or not is_varied(value):
        return False
    if sum(map(len, compile_pattern(_WORDS).findall(value))) * 3 > len(value):
        return False
    kinds = [char.isdigit() + 2 * char.isupper() for char in value if char.isalnum()]
    changes = sum(a != b for a, b in pairwise(kinds))
    return changes * 4 >= len(value)


def is_named(value: str, before: str) -> bool:
    return _has(_NAMED, before) and is_varied(value)


def is_named_random(value: str, before: str) -> bool:
    return _has(_DIGIT, value) and _has(_NAMED, before) and is_random(value)


def is_authorized(value: str, before: str) -> bool:
    return "uthorization" in before and is_varied(value)


def always(_: str, __: str) -> bool:
    return True

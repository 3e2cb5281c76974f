"""Text that must never act on a terminal, and ordinary text that must stay unchanged."""

import re
import unicodedata

_FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467"

ATTACKS: dict[str, str] = {
    # C0 and DEL.
    "bell": "a\x07b",
    "backspace overwrites": "safe\x08\x08\x08\x08evil",
    "carriage return overwrites": "safe line\revil line",
    "line feed forges a record": "x\n0123abcd:0:1.000:forged",
    "CR LF forges a record": "x\r\n0123abcd:0:1.000:forged\r\n",
    "vertical tab and form feed": "a\x0bb\x0cc",
    "tab makes a field": "a\tb\tc",
    "NUL ends a record": "a\x00b\x000123abcd:0:1.000:forged",
    "shift out to line drawing": "\x0eqqqq\x0f",
    "separators that split lines": "a\x1cb\x1dc\x1ed\x1fe",
    "delete": "a\x7fb",
    "substitute and end of text": "a\x1ab\x03c\x04d",
    # Escape sequences.
    "colour": "\x1b[31mred\x1b[0m",
    "clear screen": "\x1b[2J\x1b[H",
    "reset terminal": "\x1bc",
    "alternate screen": "\x1b[?1049h",
    "hidden text": "\x1b[8mhidden\x1b[28m",
    "cursor up and erase": "\x1b[1A\x1b[2Kgone",
    "report cursor position": "\x1b[6n",
    "title": "\x1b]0;owned\x07",
    "title, ended by ST": "\x1b]2;owned\x1b\\",
    "hyperlink": "\x1b]8;;http://evil.example\x1b\\click\x1b]8;;\x1b\\",
    "clipboard": "\x1b]52;c;ZXZpbA==\x07",
    "tmux passthrough": "\x1bPtmux;\x1b\x1b]52;c;ZXZpbA==\x07\x1b\\",
    "kitty graphics": "\x1b_Gf=24,s=1,v=1;AAAA\x1b\\",
    "iTerm2 file": "\x1b]1337;File=name=ZXZpbA==:AAAA\x07",
    "sixel": "\x1bPq#0;2;0;0;0#0~~@@\x1b\\",
    "answerback to DECRQSS": '\x1bP$q"p\x1b\\',
    "privacy message": "\x1b^evil\x1b\\",
    "escape at the end": "half a sequence \x1b",
    "bracketed paste ends": "\x1b[201~rm -rf ~\n",
    # C1.
    "C1 CSI": "\x9b31mred\x9b0m",
    "C1 OSC": "\x9d0;owned\x9c",
    "C1 DCS and APC": "\x90q\x9c\x9fG\x9c",
    "next line": "a\x85b",
    # Separators, bidi and invisible characters.
    "line and paragraph separator": "a\u2028b\u2029c",
    "right-to-left override": "user\u202etxt.exe",
    "left-to-right override": "\u202dabc\u202c",
    "embedding": "\u202aabc\u202b def\u202c",
    "isolate": "/* \u2066 } \u2069 if admin \u2067 */",
    "first strong isolate": "\u2068abc\u2069",
    "direction marks": "a\u200eb\u200fc\u061cd",
    "zero width": "pass\u200bword\u2060\ufeff",
    "joiners between plain letters": "ad\u200dmin ad\u200cmin",
    "joiners between other letters": "\u00e9\u200d\u00e9 \u65e5\u200c\u672c",
    "joiners in a row": f"{_FAMILY}\u200d\u200d\u200d\u200c",
    "soft hyphen": "pass\u00adword",
    "tag characters": "hi\U000e0001\U000e0069\U000e0067\U000e006e\U000e006f\U000e0072\U000e0065",
    "hidden bytes in variation selectors": "x\ufe00\ufe01\ufe0e\ufe0f\ufe03",
    "hidden bytes in more of them": "x\U000e0100\U000e0123\U000e01ef",
    "fillers": "a\u115f\u1160\u3164\uffa0b",
    "invisible operators": "f\u2061x\u2062y\u2063z\u2064w",
    "deprecated format": "a\u206a\u206b\u206c\u206d\u206e\u206fb",
    "grapheme joiner and Mongolian": "a\u034fb\u180ec\u180bd",
    "interlinear annotation": "\ufff9shown\ufffahidden\ufffb",
    "musical format": "a\U0001d173\U0001d17ab",
    "noncharacters": "a\ufffe\uffff\ufdd0\U0001fffe\U0010ffffb",
    "joiners of hieroglyphs": "a\U00013430\U00013437b",
    "long combining run": "z" + "\u0301\u0316\u0334" * 60,
    # What JSON can express but UTF-8 cannot.
    "lone high surrogate": "a\ud83db",
    "lone low surrogate": "a\ude00b",
    "surrogates the wrong way round": "a\ude00\ud83db",
}
"""Texts that act, hide or forge something if they are printed unescaped."""

BENIGN: tuple[str, ...] = (
    "plain words, 100 % of them: yes!",
    "quotes \"double\", 'single', `back` and \\ back slashes",
    "a:b:c:d 12:30:45 ::",
    "$HOME $(date) ${x} !! ~ * ? [a] {b} | ; & < > #",
    "<script>alert(1)</script> &amp; %s %d \\x1b \\u{1b}",
    "café naïve Ångström ñandú Übermaß",
    "cafe\u0301 nai\u0308ve",
    "Tiếng Việt: những điều",
    "Привет, мир",
    "Καλημέρα κόσμε ς",
    "שלום עולם",
    "مرحبا بالعالم",
    "می\u200cخواهم",
    "क्\u200dष नमस्ते",
    "สวัสดีชาวโลก",
    "日本語の検索、「はい」。",
    "汉字与漢字",
    "안녕하세요",
    "\u1112\u1161\u11ab\u1100\u1173\u11af",
    "தமிழ் বাংলা ગુજરાતી",
    "\U0001f600 \U0001f680 \U0001f4a9",
    f"{_FAMILY}\u200d\U0001f466",
    "\U0001f469\U0001f3fd\u200d\U0001f4bb \U0001f44d\U0001f3ff",
    "\U0001f3f3\ufe0f\u200d\U0001f308",
    "\u2764\ufe0f\u200d\U0001f525 \u2764\ufe0f",
    "1\ufe0f\u20e3 #\ufe0f\u20e3",
    "\U0001f1e9\U0001f1ea \U0001f1ef\U0001f1f5",
    "┌──┬──┐ │ ├─┤ ╔═╗ ░▒▓█",
    "⠋⠙⠹⠸ ✓ ✗ ● ○ → ⇒ … – — “x” «y»",
    "\ue0b0 \uf418 \ue725",
    "∀x∈ℝ: ⌈x⌉ ≠ ∅, ½ ² ₂ √2 ≤ ∞",
    "€ £ ¥ ₿ © ® ™ § ¶ ° µ",
    "ﬁ ﬀ Ⅷ ① Ｆｕｌｌ ㎏ ﾊﾝｶｸ",
    "İstanbul ıssız ß ẞ ſ \u212a",
)
"""Ordinary texts, which are printed unchanged."""

_HAS_JOINERS = re.compile("[\u0590-\u1cff\ua800-\uabff\U00010a00-\U00011fff]")
"""Letters and marks of scripts in which joiners change how a word is written."""
_IGNORABLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2065\u3164\uffa0\U000e0000-\U000e0fff]"
)
_SELECTORS = frozenset(map(chr, range(0xFE00, 0xFE10)))
_MAX_MARKS = 30
"""The most combining marks in a row, the limit of Unicode's stream-safe format."""


def acting(text: str, also: str = "\n") -> list[str]:
    """Return what in `text` acts, hides or forges something on a terminal or for an agent.

    This follows Unicode's tables, not the implementation in ccgrep. `also` is allowed.
    """
    found: dict[str, None] = {}
    marks = 0
    for at, char in enumerate(text):
        around = (text[at - 1 : at], text[at + 1 : at + 2])
        marks = marks + 1 if unicodedata.combining(char) else 0
        if (_acts(char, *around) and char not in also) or marks > _MAX_MARKS:
            found.setdefault(f"{char!a} in {text[max(at - 20, 0) : at + 10]!a}")
    return list(found)[:10]


def _acts(char: str, before: str, after: str) -> bool:
    if char in "\u200c\u200d":
        return not (_takes_joiner(before) and _takes_joiner(after))
    if "\ufe00" <= char <= "\ufe0f":
        return (
            not before
            or (before.isascii() and before not in "0123456789#*")
            or before in _SELECTORS
        )
    category = unicodedata.category(char)
    is_none = category == "Cn" and (ord(char) & 0xFFFE == 0xFFFE or "\ufdd0" <= char <= "\ufdef")
    # Number signs of Arabic and Kaithi.
    is_seen = ("\u0600" <= char <= "\u08ff" and char != "\u061c") or char in "\U000110bd\U000110cd"
    is_hidden = category in ("Cc", "Cf", "Cs", "Zl", "Zp") and not is_seen
    return is_hidden or is_none or _IGNORABLE.match(char) is not None


def _takes_joiner(char: str) -> bool:
    is_symbol = bool(char) and not char.isascii() and unicodedata.category(char) in ("So", "Sk")
    return is_symbol or char == "\ufe0f" or _HAS_JOINERS.match(char) is not None

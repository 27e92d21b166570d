"""Secrets and control sequences taken out of text on its way to any reader."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable
from functools import cache

MARK = "[redacted]"
# More of one line is never shown; cleaning takes time in proportion to the length.
MOST_LETTERS = 4096
# Each round may uncover what the round before hid from it; a text that needs more is a made one.
_MOST_ROUNDS = 6

# What can stand behind a name. Every pattern here either moves past what it has read or reads no
# more than a few words ahead, so that no text takes more than time in proportion to its length:
# that is why a quoted string and a list may end with the line instead of their last mark.
_SINGLE = r"""'(?:[^'\\\n]|\\.)*+'?+(?:(?:"'"|\\')'[^'\n]*+'?+)*+"""
_DOUBLE = r""""(?:[^"\\\n]|\\.)*+"?+"""
_ESCAPED = r"""\\"[^"\\\n]*+(?:\\")?+|\\'[^'\\\n]*+(?:\\')?+"""
_QUOTED = rf"""(?:[bBrRuU]{{0,2}}(?:{_SINGLE}|{_DOUBLE}|{_ESCAPED})(?:[\w/+=~-][\w/+=.~-]*+)?+)"""
_VALUE = rf"""(?:\[[^\]\n]*+\]?+|{_QUOTED}|(?:(?!,\s)[^\s;&)}}\]'"])+)"""
_WORD = rf"""(?:\[redacted\]|{_QUOTED}|[^\s'"]+)"""
# Values that say "there is no secret here".
_NOTHING = (
    r"(?!(?:None|null|none|True|False|true|false|''|\"\"|\[\]|\[None\]|API_KEY|str)"
    r"(?:[\s,;&)}\]]|$))"
)
_NUMBER = r"(?!\d{1,7}(?:\.\d{1,7})?(?![^\s,;&)}\]]))"
# Beside a flag in a help text or in a sentence.
_NO_WORD = (
    r"(?!\[?[A-Z_]{0,40}(?:KEY|TOKEN|PASSWORD|SECRET)(?![A-Za-z0-9]))"
    r"(?!(?:or|and|to|is|was|for|in|flag|option|argument)\s)"
)
# A next flag: two dashes, or one with few letters, as in -tp and -ngld.
_NEXT_FLAG = r"(?:--|-[A-Za-z]{0,4}(?![^\s'\"]))"

# Tokens in the sense of models (eos_token, max_token) are no secrets: the word before tells.
_TOKEN = (
    r"(?<![a-z])(?:hf|auth|access|session|refresh|bearer|security|secret|private|github|gitlab|bot"
    r"|admin|user|service|csrf|xsrf|vault|oauth|client|hub|api|id|registry|personal|login|deploy)"
    r"[_-]?token"
)
_NAME = (
    r"(?:api[_-]?key|password|passwd|passphrase|(?<![a-z])secret(?:[_-](?:access[_-])?key)?"
    r"|access[_-]key(?:[_-]id)?"
    r"|(?:private|account|storage|encryption|signing|master|subscription)[_-]key"
    rf"|{_TOKEN})"
)
_FLAG = rf"(?i:--?(?:(?:[a-z0-9]+[_-]){{0,6}}{_NAME}|token))"
_VARIABLE = (
    r"(?:API_?KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|ACCESS_KEY(?:_ID)?"
    r"|(?<=_)(?:KEY|PASS|PWD|PW|CREDENTIAL))"
)
_IN_QUERY = r"(?:token|key|sig|signature|auth|secret|password|pass|credential|code|session)"

# Words (as case folding leaves them, and without "i", which has strange capitals) of which every
# match holds one, the pattern, and what takes its place. Most texts hold none of the words, and a
# pattern is compiled when it is first needed: to compile them all takes longer than most logs.
_NAMES = ("key", "pass", "secret", "token")
_RULES: tuple[tuple[tuple[str, ...], str, str], ...] = (
    # --api-key X Y as items of a printed list ('--api-key', 'X', 'Y')
    (
        _NAMES,
        (
            rf"(?<![\w-])({_FLAG}['\"]\s?,\s?)(?!['\"]{_NEXT_FLAG}){_WORD}"
            rf"(?:,\s?(?!['\"]-)['\"]{_NO_WORD}(?:[^'\"\\\n]|\\.)*+['\"])*"
        ),
        rf"\1{MARK}",
    ),
    # --api-key X, --api-key=X, and several keys after one flag
    (
        _NAMES,
        (
            rf"(?<![\w-])({_FLAG}(?:=|\s+))(?!{_NEXT_FLAG}){_NO_WORD}{_WORD}"
            r"(?:(?:\s+[^\s'\"-][^\s'\"]*+){1,8}(?=\s+--?[a-z])"
            r"|(?:\s+(?=[\w.+]{0,99}\d)(?=[\w.+]{0,99}[A-Za-z])[\w.+-]++(?!\S)){1,8})?"
        ),
        rf"\1{MARK}",
    ),
    (("-k",), rf"(?<!\S)(-k\s+)(?=\S{{6}}){_WORD}", rf"\1{MARK}"),
    # HF_TOKEN=X, PGPASSWORD=X; a short number is a count, not a token
    (
        (*_NAMES, "pw", "credential"),
        rf"(?<![a-z])({_VARIABLE}\s?=\s?){_NOTHING}{_NUMBER}{_WORD}",
        rf"\1{MARK}",
    ),
    # api_key='X' and 'api_key': 'X' in printed arguments, password=X
    (_NAMES, rf"(?i:({_NAME}\\?['\"]?\s?[=:]\s?)){_NOTHING}{_VALUE}", rf"\1{MARK}"),
    # token='X' where it is no text that a model reads
    (
        ("token",),
        (
            rf"(?i:(?<![\w#-])(token\\?['\"]?\s?[=:]\s?)){_NOTHING}"
            rf"(?=b?\\?['\"][^\s'\"<>]{{6}}){_VALUE}"
        ),
        rf"\1{MARK}",
    ),
    (
        ("token",),
        (
            rf"(?i:(?<![\w#-])(token['\"]?(?:\s?=\s?(?=[^\s'\"<>]{{8}})|:\s?(?=\w{{16}}))))"
            rf"{_NOTHING}{_NUMBER}(?![\d.]+(?!\w)){_VALUE}"
        ),
        rf"\1{MARK}",
    ),
    (
        ("author",),
        (
            r"(?i:(?<!\w)(authorization\\?['\"]?\s?[:=,]\s?(?:b?\\?['\"])?"
            rf"(?:(?:bearer|basic|token|digest|apikey)\s+)?)){_WORD}"
        ),
        rf"\1{MARK}",
    ),
    (
        ("cook",),
        r"(?i:(?<!\w)((?:set-)?cookie\\?['\"]?\s?[:,]\s?(?:b?\\?['\"])?))[^\s'\"\\][^'\"\\\n]*+",
        rf"\1{MARK}",
    ),
    (
        ("bearer",),
        (
            r"(?<!\w)((?:Bearer\s+|(?i:bearer)\s+(?=\S{16})))"
            r"(?!(?i:tokens?|auth\w*|scheme|realm)\b)[^\s'\",]+"
        ),
        rf"\1{MARK}",
    ),
    (
        ("?", "&"),
        rf"(?i:([?&](?:[a-z0-9]+[_.-]){{0,4}}{_IN_QUERY}=)){_NUMBER}[^&\s'\"#<>]+",
        rf"\1{MARK}",
    ),
    (("://",), r"(://)[^/\s'\"]{1,512}@", rf"\1{MARK}@"),
    # keys that say what they are by their first letters
    (
        ("sk-", "nvapi-", "xox", "glpat-"),
        r"(?<![A-Za-z0-9])(?:sk|nvapi|xox[a-z]|glpat)-[A-Za-z0-9_-]{8,}",
        MARK,
    ),
    (
        ("hf_", "gsk_", "r8_", "npm_"),
        (
            r"(?<![A-Za-z0-9_])(?:hf|gsk|r8|npm)_"
            r"(?:[A-Za-z0-9]{20,}|(?=[A-Za-z]*\d)[A-Za-z0-9]{8,}(?!\w))"
        ),
        MARK,
    ),
    (("gh",), r"(?<![A-Za-z0-9_])(?:gh[a-z]|github_pat)_[A-Za-z0-9_]{16,}", MARK),
    (("akia", "asia"), r"(?<![A-Za-z0-9])(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Za-z0-9])", MARK),
    (("aiza",), r"(?<![\w-])AIza[\w-]{16,}", MARK),
    (("eyj",), r"(?<![\w-])eyJ[\w-]{5,}(?:\.[\w-]*){1,4}", MARK),
)
_FLAG_ALONE = rf"{_FLAG}|-k|-hft"
_VARIABLE_ALONE = rf"(?:[A-Z0-9_]*{_VARIABLE}|(?i:[a-z0-9_-]*{_NAME}))"

# Escape sequences as terminals read them: CSI, the string kinds (OSC, DCS, …), and two-letter ones.
_ESCAPE = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"
    r"|(?:\x1b[]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x90\x98\x9c-\x9f]*(?:\x07|\x1b\\|\x9c)"
    r"|\x1b[ -/]*[0-~]"
)
# The rest of C0 and C1, the marks that turn the direction of writing, and stray surrogates.
_UNSEEN = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff]"
)
_BREAK = re.compile(r"[\n\u2028\u2029]")


def redact(text: str) -> str:
    """`text` with every secret that can be recognised replaced by `[redacted]`."""
    for _ in range(_MOST_ROUNDS):
        before, folded = text, text.casefold()
        for words, pattern, replacement in _RULES:
            if any(word in folded for word in words):
                found = _compiled(pattern).sub(replacement, text)
                if found != text:
                    text, folded = found, found.casefold()
        if text == before:
            break
    return text


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def redact_argv(argv: Iterable[str]) -> tuple[str, ...]:
    """A command line with the values of secret options replaced, word by word.

    A flag may have several values: all words up to the next flag are hidden.
    """
    words: list[str] = []
    is_first = hides = False
    for word in argv:
        hides = hides and not (
            _compiled(_NEXT_FLAG).match(word) if is_first else word.startswith("-")
        )
        words.append(MARK if hides else redact(word))
        is_flag = not hides and _compiled(_FLAG_ALONE).fullmatch(word) is not None
        hides = is_flag or hides
        is_first = is_flag
    return tuple(words)


def render_argv(argv: Iterable[str]) -> str:
    """A command line as one line for the shell, without secrets and control sequences."""
    words = redact_argv(argv)
    return printable(" ".join(word if MARK in word else shlex.quote(word) for word in words))


def is_secret_name(name: str) -> bool:
    """Whether the value of the flag or variable `name` is shown to nobody."""
    return bool(
        _compiled(_FLAG_ALONE).fullmatch(name) or _compiled(_VARIABLE_ALONE).fullmatch(name)
    )


def printable(text: str) -> str:
    """One line that is safe on a terminal: no control sequence, no line break, tabs as spaces."""
    return _BREAK.sub(" ", printable_block(text)).replace("\t", "    ")


def printable_block(text: str) -> str:
    """Text that is safe on a terminal; line feeds and tabs stay."""
    return _UNSEEN.sub("", _ESCAPE.sub("", text))


def conceal(text: str) -> str:
    """A line or block for a file that others may be given: indentation and tabs stay."""
    return redact(printable_block(text))


def clean(text: str) -> str:
    """One line that may be shown to anybody: without control sequences and without secrets."""
    return redact(printable(text))


def clean_start(text: str, most: int = MOST_LETTERS) -> str:
    """The beginning of a line, cleaned; cut between words, so that no secret loses its look."""
    if len(text) > most:
        text = text[:most].rpartition(" ")[0] or text[:most]
    return clean(text)

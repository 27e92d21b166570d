"""Secrets and control sequences taken out of text on its way to any reader."""

from __future__ import annotations

import re
from collections.abc import Iterable

MARK = "[redacted]"

# What can stand behind a name: a list, a quoted string, or everything up to the next border.
_QUOTED = r"""'[^'\n]*'|"[^"\n]*\""""
_VALUE = rf"""(?:\[[^\]\n]*\]|{_QUOTED}|(?:(?!,\s)[^\s;&)}}\]'"])+)"""
_WORD = rf"""(?:\[redacted\]|{_QUOTED}|[^\s'"]+)"""
# Values that say "there is no secret here".
_NOTHING = (
    r"(?!(?:None|null|none|True|False|true|false|''|\"\"|\[\]|\[None\]|API_KEY|str)"
    r"(?:[\s,;&)}\]]|$))"
)
_SECRET_FLAG = (
    r"--(?:[a-z]+-)*(?:api-key|apikey|hf-token|auth-token|access-token|password|secret-key)"
)
_SECRET_NAME = (
    r"(?:[a-z]+[_-])*(?:api[_-]?key|hf[_-]token|access[_-]token|auth[_-]token|password|passwd"
    r"|secret|secret[_-]key|secret[_-]access[_-]key)"
)
_SECRET_VARIABLE = r"(?:[A-Z0-9]+_)*(?:API_?KEY|TOKEN|SECRET|PASSWORD|PASSWD|ACCESS_KEY(?:_ID)?)"

_RULES: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        # --api-key X, --api-key=X, and both as items of a printed list ('--api-key', 'X')
        (
            rf"(?<![\w-])({_SECRET_FLAG}(?:['\"],\s*|=|\s+))(?!-)(?!API_KEY\]){_WORD}",
            rf"\1{MARK}",
        ),
        (rf"(?<!\S)(-k\s+)(?=\S{{6}}){_WORD}", rf"\1{MARK}"),
        # HF_TOKEN=X, OPENAI_API_KEY=X; a short number is a count, not a token
        (
            rf"(?<![A-Za-z0-9_])({_SECRET_VARIABLE}\s?=\s?){_NOTHING}(?!\d{{1,7}}(?!\S)){_WORD}",
            rf"\1{MARK}",
        ),
        # api_key='X' and 'api_key': 'X' in printed arguments, password=X
        (
            rf"(?i:(?<![A-Za-z0-9_])({_SECRET_NAME}['\"]?\s?[=:]\s?)){_NOTHING}{_VALUE}",
            rf"\1{MARK}",
        ),
        (
            rf"(?i:(?<!\w)(authorization['\"]?\s?[:=]\s?['\"]?(?:(?:bearer|basic)\s+)?)){_WORD}",
            rf"\1{MARK}",
        ),
        (
            r"(?<!\w)(Bearer\s+)(?!(?i:tokens?|auth\w*|scheme|realm)\b)[^\s'\",]+",
            rf"\1{MARK}",
        ),
        (r"(://)[^/\s]{1,512}@", rf"\1{MARK}@"),
        # keys that say what they are by their first letters
        (r"(?<![A-Za-z0-9])(?:sk|nvapi|xox[abp])-[A-Za-z0-9_-]{8,}", MARK),
        (r"(?<![A-Za-z0-9_])hf_(?:[A-Za-z0-9]{20,}|(?=[A-Za-z]*\d)[A-Za-z0-9]{8,}(?!\w))", MARK),
        (r"(?<![A-Za-z0-9_])(?:gh[opsu]|github_pat)_[A-Za-z0-9_]{16,}", MARK),
        (r"(?<![A-Za-z0-9])(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Za-z0-9])", MARK),
        (r"(?<![\w-])eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]{8,}", MARK),
    )
)
_FLAG_ALONE = re.compile(rf"(?:{_SECRET_FLAG}|-k|-hft)")

# Escape sequences as terminals read them: CSI, the string kinds (OSC, DCS, …), and two-letter ones.
_ESCAPE = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"
    r"|(?:\x1b[]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)"
    r"|\x1b[ -/]*[0-~]"
)
# The rest of C0 and C1, the marks that turn the direction of writing, and stray surrogates.
_UNSEEN = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff]"
)
_BREAK = re.compile(r"[\n\u2028\u2029]")


def redact(text: str) -> str:
    """`text` with every secret that can be recognised replaced by `[redacted]`."""
    while True:  # each round leaves fewer letters outside the marks, so this ends
        before = text
        for pattern, replacement in _RULES:
            text = pattern.sub(replacement, text)
        if text == before:
            return text


def redact_argv(argv: Iterable[str]) -> tuple[str, ...]:
    """A command line with the values of secret options replaced, word by word."""
    words: list[str] = []
    hides_next = False
    for word in argv:
        words.append(MARK if hides_next else redact(word))
        hides_next = _FLAG_ALONE.fullmatch(word) is not None
    return tuple(words)


def printable(text: str) -> str:
    """One line that is safe on a terminal: no control sequence, no line break, tabs as spaces."""
    return _BREAK.sub(" ", printable_block(text)).replace("\t", "    ")


def printable_block(text: str) -> str:
    """Text that is safe on a terminal; line feeds and tabs stay."""
    return _UNSEEN.sub("", _ESCAPE.sub("", text))


def clean(text: str) -> str:
    """One line that may be shown to anybody: without control sequences and without secrets."""
    return redact(printable(text))

"""Takes secrets out of commands, environments and text before they leave firedup. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

HIDDEN = "***"

_SECRET = (
    r"(?:api[-_]?keys?|access[-_]?keys?|(?:hf|hub|auth|bearer|access|api)[-_]?tokens?"
    r"|secret|passwd|password|credentials?)"
)
_SECRET_FLAG = re.compile(rf"--?(?:[\w.-]*[-_.])?(?:{_SECRET}|token|key)", re.IGNORECASE)
_SECRET_NAME = re.compile(r"(?i)(?:\w*_)?(?:token|key|keys|secret|password|passwd|credentials?)")
_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=(.*)", re.DOTALL)
_LIST_FLAGS = re.compile(r"--api[-_]key")

# In running text: a named value, a bearer header, credentials in an address, well-known shapes.
_TEXT_NAMED = re.compile(
    rf"""(?ix) (\b[\w.-]*{_SECRET}["']?\s*(?:[:=]|\s)\s*)
    (?!None\b|null\b|\*\*\*|""|'') ("[^"]+"|'[^']+'|(?<=[=:\s])[^\s,;)\]}}'"]+)"""
)
_TEXT_ENV = re.compile(r"\b((?:[A-Z0-9]+_)*(?:TOKEN|API_KEY|SECRET|PASSWORD)=)([^\s'\",;]+)")
_TEXT_LIST = re.compile(r"(--api[-_]key)(?:\s+(?![-;&|])[^\s;&|]+)+")
_TEXT_BEARER = re.compile(r"(?i)\b(bearer\s+)[\w.~+/=-]{6,}")
_TEXT_ADDRESS = re.compile(r"(\w+://[^\s/:@]+:)[^\s/@]+(?=@)")
_TEXT_SHAPES = re.compile(r"\b(?:hf_[A-Za-z0-9]{16,}|sk-[\w-]{16,}|gh[pousr]_[A-Za-z0-9]{20,})")


def redact(argv: Sequence[str]) -> tuple[str, ...]:
    """`argv` with the values of keys, tokens and passwords replaced by `***`."""
    shown: list[str] = []
    hides_next = hides_list = False
    for word in argv:
        is_flag = len(word) > 1 and word.startswith("-")
        if (hides_next or hides_list) and not is_flag:
            shown.append(HIDDEN)
            hides_next = False
            continue
        hides_next = hides_list = False
        name, equals, value = word.partition("=")
        if is_flag and _SECRET_FLAG.fullmatch(name):
            hides_next = not equals
            hides_list = hides_next and bool(_LIST_FLAGS.fullmatch(name))
            shown.append(f"{name}={HIDDEN}" if equals else word)
        elif not is_flag and equals and _is_secret_name(name) and value:
            shown.append(f"{name}={HIDDEN}")
        else:
            shown.append(redact_text(word))
    return tuple(shown)


def redact_environment(env: Mapping[str, str]) -> dict[str, str]:
    """`env` with the values of secret names replaced by `***`."""
    return {n: HIDDEN if v and _is_secret_name(n) else redact_text(v) for n, v in env.items()}


def redact_text(text: str, secrets: Iterable[str] = ()) -> str:
    """`text` (a log line, a message) without what looks like a secret, and without `secrets`."""
    for secret in secrets:
        if len(secret) >= 4:
            text = text.replace(secret, HIDDEN)
    text = _TEXT_LIST.sub(rf"\1 {HIDDEN}", text)
    text = _TEXT_NAMED.sub(lambda found: found[1] + _hide(found[2]), text)
    text = _TEXT_ENV.sub(rf"\1{HIDDEN}", text)
    text = _TEXT_BEARER.sub(rf"\1{HIDDEN}", text)
    text = _TEXT_ADDRESS.sub(rf"\1{HIDDEN}", text)
    return _TEXT_SHAPES.sub(HIDDEN, text)


def _hide(value: str) -> str:
    quote = value[0] if value[0] in "\"'" else ""
    return f"{quote}{HIDDEN}{quote}"


def _is_secret_name(name: str) -> bool:
    return bool(_SECRET_NAME.fullmatch(name))

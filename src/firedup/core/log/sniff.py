"""Tells from the first bytes of a file when it is no log in plain text."""

from __future__ import annotations

_FORMS = (
    (b"\x1f\x8b", "gzip", "zcat"),
    (b"\x28\xb5\x2f\xfd", "zstd", "zstdcat"),
    (b"BZh", "bzip2", "bzcat"),
    (b"\xfd7zXZ\x00", "xz", "xzcat"),
)
_OTHERS = ((b"PK\x03\x04", "a zip archive"), (b"\x7fELF", "a program"), (b"GGUF", "a GGUF model"))
# A log may hold a stray NUL byte; a file of which so large a part is NUL is something else.
_NUL_SHARE = 0.02


def name_problem(head: bytes) -> str | None:
    """Why the file that begins with `head` (some kilobytes) is no log, None when it may be one."""
    if not head:
        return "the log is empty"
    for magic, name, tool in _FORMS:
        if head.startswith(magic):
            return f"not plain text but {name}: try {tool} LOG | firedup explain -"
    for magic, name in _OTHERS:
        if head.startswith(magic):
            return f"not a log: it begins like {name}"
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "not UTF-8 but UTF-16: try iconv -f UTF-16 -t UTF-8 LOG | firedup explain -"
    if head.count(0) > _NUL_SHARE * len(head):
        return "not a log: its bytes are not text"
    return None

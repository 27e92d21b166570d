"""Raw bytes of one record → a Line: decoded, freed of control sequences, prefix understood."""

from __future__ import annotations

from firedup.core.log.prefix import parse_prefix, strip_escapes
from firedup.core.model import Line

# Longer than any useful record (SGLang echoes its arguments in 20 kB); what follows is dropped.
LIMIT_BYTES = 65_536


def decode_line(
    raw: bytes, *, offset: int, end: int, number: int, is_progress: bool, year: int
) -> Line:
    """Decode the bytes of one record (without its end).

    `offset` and `end` are its place in the file (end includes the terminator). Bad UTF-8 becomes
    U+FFFD. `year` completes time stamps that have none.
    """
    text = strip_escapes(raw[:LIMIT_BYTES].decode("utf-8", "replace")).rstrip()
    prefix = parse_prefix(text, year)
    return Line(
        offset=offset,
        end=end,
        number=number,
        text=text,
        message=text[prefix.length :],
        source=prefix.source,
        stamp_ns=prefix.stamp_ns,
        level=prefix.level,
        is_progress=is_progress,
        is_cut=len(raw) > LIMIT_BYTES,
        collected=prefix.collected,
    )


def has_own_prefix(line: Line) -> bool:
    """Whether the engine itself put something before the message."""
    return len(line.message) < len(line.written)

"""What stands before the message of a log line: collectors, ranks, pids, titles, time stamps."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache

from firedup.core.log.form import COLLECTORS, RANK, RECORDS, TITLE
from firedup.core.model import Source

_NS = 1_000_000_000

# Control sequences of terminals: CSI, OSC and the two-byte ones; none goes past a record's end.
ESCAPE = re.compile(r"\x1b(?:\[[0-9;:?]*[ -/]*[@-~]|\][^\x07\x1b\r\n]*(?:\x07|\x1b\\)|[=>@-Z\\-_])")

_COLLECTOR = re.compile("|".join(f"(?:{form.pattern})" for form in COLLECTORS))
_MOST_COLLECTORS = 4
_TITLED = re.compile(TITLE.pattern)
_RANKED = re.compile(RANK.pattern)
_RECORDS = tuple(re.compile(form.pattern) for form in RECORDS)
_LETTERS = {"D": "DEBUG", "I": "INFO", "W": "WARNING", "E": "ERROR", "C": "CRITICAL"}
# After a prefix without a level, as uvicorn and Python's warnings write it.
_SPELLED = re.compile(
    r"\s*(?:\w*(?P<warning>Warning)|(?P<level>DEBUG|INFO|WARNING|ERROR|CRITICAL)): "
)
# A record whose writer did not wait for the end of a progress bar (or of a line without one).
_GLUED = re.compile(
    r"(?<=\S)(?:\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d"
    r"|\([A-Z][\w.:-]{0,60} pid=\d+(?:, ip=[^)]{1,64})?\) )"
)
# One that follows a few words of a collector whose form nobody knows.
_BEHIND = re.compile(
    r"(?<=[\s:>|\]])(?:\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d[^\]]{0,64}\] "
    r"|\([A-Z][\w.:-]{0,60} pid=\d+(?:, ip=[^)]{1,64})?\) "
    r"|\[rank\d+\]: ?|(?:DEBUG|INFO|WARNING|ERROR) (?:\d{4}-)?\d\d-\d\d \d\d:\d\d:\d\d )"
)
_BEHIND_CHARS, _BEHIND_WORDS = 128, 4
_TITLE_RANK = re.compile(r"(?:^|_)((?:(?:DP|PP|TP|EP)\d+)(?:_(?:DP|PP|TP|EP)\d+)*)$")


@dataclass(frozen=True, slots=True)
class Prefix:
    """What was found before the message: `length` characters of the text.

    The first `collected` of them are a collector's.
    """

    length: int
    source: Source
    stamp_ns: int | None
    level: str | None = None
    collected: int = 0


def strip_escapes(text: str) -> str:
    """`text` without terminal control sequences."""
    return ESCAPE.sub("", text) if "\x1b" in text else text


@lru_cache(maxsize=64)  # of the lines of one second
def parse_stamp(text: str, year: int) -> int | None:
    """Nanoseconds since the epoch of "[YYYY-]MM-DD HH:MM:SS[.frac]", read as UTC.

    `year` is used where the text has none. None when the text is no date.
    """
    date, _, clock = text.partition(" ")
    if date.count("-") == 1:
        date = f"{year:04d}-{date}"
    whole, _, fraction = clock.replace(",", ".").partition(".")
    try:
        at = datetime.fromisoformat(f"{date}T{whole}").replace(tzinfo=UTC)
    except ValueError:
        return None
    return int(at.timestamp()) * _NS + int((fraction + "000000000")[:9])


def parse_prefix(text: str, year: int) -> Prefix:
    """Read everything before the message of `text`; an unknown form is no prefix at all.

    The last time stamp before the message counts, since it is the engine's own.
    """
    at = 0
    rank: str | None = None
    pid: int | None = None
    title: str | None = None
    stamp_ns: int | None = None
    level: str | None = None
    for _ in range(_MOST_COLLECTORS):
        found = _COLLECTOR.match(text, at)
        if found is None:
            break
        stamp_ns = _collector_stamp(found.group()) or stamp_ns
        at = found.end()
    collected = at
    at = _own_start(text, at)
    for _ in range(3):  # an engine core passes on what its Ray workers print, title and all
        titled = _TITLED.match(text, at) if text.startswith("(", at) else None
        if titled is None:
            break
        title, pid, at = titled["title"], int(titled["pid"]), titled.end()
        of_title = _TITLE_RANK.search(title)
        rank = of_title[1].replace("_", " ") if of_title else rank
    if (ranked := _RANKED.match(text, at)) is not None:
        rank, at = f"rank{ranked['rank']}", ranked.end()
    for _ in range(2):  # a collector may have put a time of the same form before it
        record = next((found for form in _RECORDS if (found := form.match(text, at))), None)
        if record is None:
            break
        said = record.groupdict()
        stamp_ns = _record_stamp(said, year) or stamp_ns
        rank = said["rank"].strip() if said.get("rank") else rank
        level = _LETTERS.get(said.get("level") or "", said.get("level"))
        at = record.end()
        if not text.startswith("[20", at):
            break
    if level is None and (spelled := _SPELLED.match(text, at)) is not None:
        level = "WARNING" if spelled["warning"] else spelled["level"]
    return Prefix(at, Source(rank, pid, title), stamp_ns, level, collected)


def _own_start(text: str, at: int) -> int:
    """Where the beginning of the writer's own is, behind a bar or what an unknown collector put."""
    if ("[" not in text and " pid=" not in text) or text.startswith(("[20", "(", "[rank"), at):
        return at
    if (glued := _GLUED.search(text, at)) is not None:
        return glued.start()
    behind = _BEHIND.search(text, at, at + _BEHIND_CHARS)
    if behind is None or len(text[at : behind.start()].split()) > _BEHIND_WORDS:
        return at
    return behind.start()


def _record_stamp(said: dict[str, str | None], year: int) -> int | None:
    """The time of a record: a date, or since the start of its process."""
    if said.get("stamp"):
        return parse_stamp(said["stamp"] or "", year)
    if said.get("us") is None:
        return None
    minutes, seconds, ms, us = (int(said[unit] or 0) for unit in ("m", "s", "ms", "us"))
    return (minutes * 60 + seconds) * _NS + ms * 1_000_000 + us * 1_000


def is_wall(stamp_ns: int) -> bool:
    """Whether a stamp is a date, and no time since the start of a process."""
    return stamp_ns > 100_000_000 * _NS


def _collector_stamp(prefix: str) -> int | None:
    if not prefix[:4].isdigit():
        return None
    found = re.match(r"[\d:]+(?:[.,]\d+)?", prefix[11:])
    return parse_stamp(f"{prefix[:10]} {found.group()}", 1970) if found else None

"""What stands before the message of a log line: collectors, ranks, pids, titles, time stamps."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache

from firedup.core.model import Source

_NS = 1_000_000_000

# Control sequences of terminals: CSI, OSC and the two-byte ones; none goes past a record's end.
ESCAPE = re.compile(r"\x1b(?:\[[0-9;:?]*[ -/]*[@-~]|\][^\x07\x1b\r\n]*(?:\x07|\x1b\\)|[=>@-Z\\-_])")

# Written by whoever collected the log, outermost first; peeled off as often as they occur.
_COLLECTOR = re.compile(
    r"(?:\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d) +(?:std(?:out|err) [FP] )?"
    r"|\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:[.,]\d+)? "
    r"|\[pod/[^\]]{1,200}\] "
    r"|\d{1,4}: "
    r"|[A-Za-z][\w.-]{0,60}-\d+[ \u00a0]+\|[ \u00a0]?"
    r"|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d [\w.-]{1,64} [\w@./-]{1,64}\[\d+\]: )"
)
# vLLM and Ray: (EngineCore_DP0 pid=123), (Worker_TP3 pid=7), (RayWorkerWrapper pid=9, ip=10.0.0.2).
_TITLED = re.compile(
    r"\((?P<title>[A-Za-z][\w.:-]{0,60})(?: rank=\d+)? pid=(?P<pid>\d+)(?:, ip=[^)]{1,64})?\) ?"
)
_RANKS = r"(?:(?: (?:DP|PP|TP|EP|ATTN_CP|MOE_DP|CP)\d+)+)"
# SGLang: [2026-11-29 17:27:53 DP0 TP1] message; milliseconds on demand.
_SGLANG = re.compile(
    r"\[(?P<stamp>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:[.,]\d{1,6})?)(?P<rank>" + _RANKS + r")?\] ?"
)
# vLLM: INFO 11-29 16:44:42 [core.py:93] message; the year is missing in most versions.
_VLLM = re.compile(
    r"(?P<level>DEBUG|INFO|WARNING|ERROR|CRITICAL) "
    r"(?P<stamp>(?:\d{4}-)?\d\d-\d\d \d\d:\d\d:\d\d(?:[.,]\d{1,6})?) (?:\[[^\]]{1,120}\] ?)?"
)
# torch: [rank3]:[E1129 17:27:53.123456 ProcessGroupNCCL.cpp:616] or [rank3]: Traceback …
_TORCH_RANK = re.compile(r"\[rank(?P<rank>\d+)\]: ?")
# llama.cpp: minutes.seconds.milliseconds.microseconds level component: message
_LLAMA = re.compile(r"(?P<m>\d+)\.(?P<s>\d\d)\.(?P<ms>\d{3})\.(?P<us>\d{3}) (?P<level>[DIWEC]) ")
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
    for _ in range(3):
        found = _COLLECTOR.match(text, at)
        if found is None:
            break
        stamp_ns = _collector_stamp(found.group()) or stamp_ns
        at = found.end()
    collected = at
    if ("[" in text or " pid=" in text) and not text.startswith(("[", "("), at):
        glued = _GLUED.search(text, at)
        at = glued.start() if glued is not None else at
    for _ in range(3):  # an engine core passes on what its Ray workers print, title and all
        titled = _TITLED.match(text, at) if text.startswith("(", at) else None
        if titled is None:
            break
        title, pid, at = titled["title"], int(titled["pid"]), titled.end()
        of_title = _TITLE_RANK.search(title)
        rank = of_title[1].replace("_", " ") if of_title else rank
    if (torch := _TORCH_RANK.match(text, at)) is not None:
        rank, at = f"rank{torch['rank']}", torch.end()
    if (sglang := _SGLANG.match(text, at)) is not None:
        stamp_ns = parse_stamp(sglang["stamp"], year) or stamp_ns
        rank = sglang["rank"].strip() if sglang["rank"] else rank
        at = sglang.end()
    elif (vllm := _VLLM.match(text, at)) is not None:
        stamp_ns = parse_stamp(vllm["stamp"], year) or stamp_ns
        level = vllm["level"]
        at = vllm.end()
    elif (llama := _LLAMA.match(text, at)) is not None:
        stamp_ns = (int(llama["m"]) * 60 + int(llama["s"])) * _NS
        stamp_ns += int(llama["ms"]) * 1_000_000 + int(llama["us"]) * 1_000
        level = _LETTERS[llama["level"]]
        at = llama.end()
    if level is None and (spelled := _SPELLED.match(text, at)) is not None:
        level = "WARNING" if spelled["warning"] else spelled["level"]
    return Prefix(at, Source(rank, pid, title), stamp_ns, level, collected)


def is_wall(stamp_ns: int) -> bool:
    """Whether a stamp is a date; llama.cpp counts from the start of the process instead."""
    return stamp_ns > 100_000_000 * _NS


def _collector_stamp(prefix: str) -> int | None:
    if not prefix[:4].isdigit():
        return None
    found = re.match(r"[\d:]+(?:[.,]\d+)?", prefix[11:])
    return parse_stamp(f"{prefix[:10]} {found.group()}", 1970) if found else None

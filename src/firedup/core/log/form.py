r"""What is written before a message, as a table of forms: by collectors, and by whoever logs.

A pattern may have the groups `title`, `pid`, `rank`, `stamp`, `level`, or for a time that counts
from the start of the process `m`, `s`, `ms` and `us`. Each form comes with beginnings of lines
that it reads to their end, and with such as are none.
"""

from __future__ import annotations

from dataclasses import dataclass

_DATE = r"\d{4}-\d\d-\d\d"
_TIME = r"\d\d:\d\d:\d\d"
_FRACTION = r"(?:[.,]\d{1,9})?"
_LEVELS = "DEBUG|INFO|WARNING|ERROR|CRITICAL"


@dataclass(frozen=True, slots=True)
class Form:
    """One way to begin a line. `reads`: whole beginnings; `leaves`: what is no such beginning."""

    pattern: str
    reads: tuple[str, ...]
    leaves: tuple[str, ...] = ()


# Written by whoever collected the log, outermost first; peeled off as often as they occur.
COLLECTORS = (
    Form(  # container runtimes, journals and platforms that write ISO 8601
        rf"{_DATE}T{_TIME}{_FRACTION}(?:Z|[+-]\d\d:?\d\d)[ \t]+"
        rf"(?:std(?:out|err) [FP] |(?:{_LEVELS})\t"
        r"|(?:[\w.-]{1,64} )?[\w@./-]{1,64}\[[\w.-]+\]: )?",
        (
            "2026-01-01T10:00:00.123456789Z stdout F ",
            "2026-01-01T10:00:00+0000 gpu01 vllm[8123]: ",
            "2026-01-01T10:00:00.123456+00:00 app[web.1]: ",
            "2026-01-01T10:00:00.123Z\tINFO\t",
        ),
        ("2026-01-01T10:00:00 a time without a zone",),
    ),
    Form(
        rf"{_DATE} {_TIME}{_FRACTION}[ \t]",
        ("2026-01-01 10:00:00,123 ", "2026-01-01 10:00:00.123\t"),
        ("2026-01-01",),
    ),
    Form(  # syslog and journalctl, also with microseconds; moreutils' ts
        rf"[A-Z][a-z]{{2}} [ \d]\d {_TIME}{_FRACTION} "
        r"(?:[\w.-]{1,64} [\w@./-]{1,64}(?:\[\d+\])?: )?",
        (
            "Jan  1 10:00:00 gpu01 vllm[8123]: ",
            "Jan 01 10:00:00.123456 gpu01 vllm[8123]: ",
            "Jan 01 10:00:00 gpu01 sglang: ",
            "Jan 01 10:00:00 ",
        ),
        ("Jan 01 was a holiday",),
    ),
    Form(  # RFC 5424
        rf"<\d{{1,3}}>1 {_DATE}T{_TIME}{_FRACTION}\S{{0,6}} "
        r"\S{1,64} \S{1,64} \S{1,32} \S{1,32} - ",
        ("<14>1 2026-01-01T10:00:00.123Z gpu01 vllm 8123 - - ",),
        ("<14>1 of them",),
    ),
    Form(r"\[pod/[^\]]{1,200}\] ", ("[pod/sglang-0/main] ",), ("[podman] ",)),
    Form(r"\d{1,4}: ", ("3: ", "1017: "), ("3:4",)),  # srun --label
    Form(r" {0,6}\d{1,7}\t", ("    12\t",), ("12 tokens",)),  # cat -n
    Form(r"\[\d+,\d+\]<std(?:out|err)>: ?", ("[1,3]<stderr>:",), ("[1,3] is a shape",)),  # mpirun
    Form(r"\[default\d+\]:", ("[default3]:",), ("[default]:",)),  # torchrun --tee
    Form(  # compose, with and without the number of a container
        "[A-Za-z][\\w.-]{0,60}-\\d+[ \u00a0]+\\|[ \u00a0]?|[a-z][a-z\\d_.-]{0,60}[ \u00a0]+\\| ",
        ("sglang-1  | ", "llama-server-12 |", "vllm  | "),
        ("INFO  | a level is no service", "Loading: 3%| "),
    ),
)
# Who prints: vLLM's processes, Ray's actors.
TITLE = Form(
    r"\((?P<title>[A-Za-z][\w.:-]{0,60})(?: rank=\d+)? pid=(?P<pid>\d+)(?:, ip=[^)]{1,64})?\) ?",
    ("(EngineCore_DP0 pid=123) ", "(RayWorkerWrapper pid=9, ip=10.0.0.2) "),
    ("(the one with pid=3) ",),
)
# torch, before what its C++ says and before tracebacks of a process group.
RANK = Form(r"\[rank(?P<rank>\d+)\]: ?", ("[rank3]:", "[rank3]: "), ("[ranks]: ",))
# What an engine's own logger writes; the first that fits is taken.
RECORDS = (
    Form(  # a date, and the ranks of which the writer is one
        rf"\[(?P<stamp>{_DATE} {_TIME}{_FRACTION})"
        r"(?P<rank>(?: (?:DP|PP|TP|EP|ATTN_CP|MOE_DP|CP)\d+)+)?\] ?",
        ("[2026-01-01 17:27:53 DP0 TP1] ", "[2026-01-01 17:27:53.250] "),
        ("[2026-01-01] ",),
    ),
    Form(  # a level, a date that may lack its year, and the place in the source
        rf"(?P<level>{_LEVELS}) (?P<stamp>(?:\d{{4}}-)?\d\d-\d\d {_TIME}{_FRACTION})"
        r" (?:\[[^\]]{1,120}\] ?)?",
        ("INFO 01-01 16:44:42 [core.py:93] ", "ERROR 2026-01-01 16:44:42 "),
        ("INFO 16:44:42 ",),
    ),
    Form(  # minutes, seconds, milliseconds and microseconds since the start, a level's first letter
        r"(?P<m>\d+)\.(?P<s>\d\d)\.(?P<ms>\d{3})\.(?P<us>\d{3}) (?P<level>[DIWEC]) ",
        ("0.01.234.567 I ",),
        ("0.01.234.567 ", "127.0.0.1 I "),
    ),
)

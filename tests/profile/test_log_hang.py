"""Hanging or loading, told from a log alone."""

from __future__ import annotations

from compiled import builtin_matcher
from hypothesis import given
from hypothesis import strategies as st

from firedup.core.event import Ended, LogData
from firedup.core.model import Explanation, Finding, Severity, Verdict
from firedup.profile.pipeline import Pipeline

START = "[2026-03-04 09:00:00] server_args={'model_path': '/m', 'tp_size': 4, 'nnodes': 1}"


def explain(*lines: str) -> Explanation:
    pipeline = Pipeline(builtin_matcher("sglang"), year=2026, engine="sglang")
    pipeline.feed(LogData(0, 0, 0, "".join(line + "\n" for line in lines).encode()))
    pipeline.feed(Ended(0))
    return pipeline.snapshot().explanation


def ranks(clock: str, message: str, numbers: range = range(4)) -> list[str]:
    return [f"[2026-03-04 {clock} TP{n}] {message}" for n in numbers]


def finding(explanation: Explanation, name: str) -> Finding:
    return next(found for found in explanation.findings if found.id == name)


DIST = ranks("09:00:10", "Init torch distributed begin.")
LOAD = ranks("09:00:20", "Load weight begin. avail mem=79.10 GB")
HEALTH = '[2026-03-04 11:00:00] INFO:     127.0.0.1:4711 - "GET /health HTTP/1.1" 503'


def test_a_silent_log_is_loading_and_says_how_far_it_came() -> None:
    seen = explain(START, *DIST, *LOAD)

    assert seen.verdict is Verdict.LOADING
    told = finding(seen, "last-progress")
    assert told.severity is Severity.NOTE
    assert "The last progress was in load-weights" in told.message
    assert "60 min" in told.message


def test_time_stamps_that_go_on_elsewhere_make_it_stalled() -> None:
    seen = explain(START, *DIST, *LOAD, HEALTH)

    assert seen.verdict is Verdict.STALLED
    told = finding(seen, "last-progress")
    assert told.severity is Severity.SEVERE
    assert "for 120 min" in told.message
    assert [e.text for e in told.evidence] == [LOAD[-1], HEALTH]


def test_a_start_that_moves_again_is_loading() -> None:
    seen = explain(
        START, *DIST, *LOAD, HEALTH, *ranks("11:00:01", "Load weight end. elapsed=7180.1 s")
    )

    assert seen.verdict is Verdict.LOADING


def test_the_rank_that_did_not_arrive_is_named() -> None:
    seen = explain(START, *DIST, *ranks("09:00:20", "Load weight begin. avail mem=79 GB", range(3)))

    missing = finding(seen, "ranks-missing")
    assert missing.message == "3 of 4 ranks have begun load-weights; TP3 has not."
    assert missing.severity is Severity.NOTE
    assert missing.evidence[-1].text == DIST[3]


def test_a_rank_that_never_printed_is_known_from_the_echoed_arguments() -> None:
    seen = explain(START, *ranks("09:00:10", "Init torch distributed begin.", range(3)))

    assert "TP3 has not" in finding(seen, "ranks-missing").message


def test_ranks_of_other_nodes_are_not_missed() -> None:
    start = START.replace("'tp_size': 4, 'nnodes': 1", "'tp_size': 8, 'nnodes': 2")

    assert not any(found.id == "ranks-missing" for found in explain(start, *DIST).findings)


def test_a_server_that_is_up_has_no_missing_ranks_and_no_silence() -> None:
    up = "[2026-03-04 09:05:00] The server is fired up and ready to roll!"
    seen = explain(START, *DIST, *LOAD[:3], up, HEALTH)

    assert seen.verdict is Verdict.READY
    assert not {"ranks-missing", "last-progress"} & {found.id for found in seen.findings}


def test_the_rank_that_others_time_out_on_is_named() -> None:
    caught = (
        "[rank{n}]:[E304 09:11:00.1 ProcessGroupNCCL.cpp:685] [Rank {n}] Watchdog caught collective"
        " operation timeout: WorkNCCL(SeqNum=12, OpType=ALLREDUCE, NumelIn=1, NumelOut=1,"
        " Timeout(ms)=600000) ran for 600041 milliseconds before timing out."
    )
    seen = explain(START, *DIST, *LOAD, *(caught.format(n=n) for n in (0, 1, 3)))

    assert seen.verdict is Verdict.CRASHED
    missing = finding(seen, "ranks-missing")
    assert missing.severity is Severity.SEVERE
    assert "TP2 has not" in missing.message
    assert missing.evidence[-1].text == LOAD[2]


def test_a_watchdog_that_only_tells_makes_it_stalled_until_it_moves() -> None:
    told = "[2026-03-04 09:06:00 TP0] Scheduler watchdog timeout (self.watchdog_timeout=60, self.soft=True)"  # noqa: E501
    end = ranks("09:07:00", "Load weight end. elapsed=400 s")

    assert explain(START, *DIST, *LOAD, told).verdict is Verdict.STALLED
    assert explain(START, *DIST, *LOAD, told, *end).verdict is Verdict.LOADING


@given(st.permutations(range(4)), st.booleans())
def test_the_order_in_which_ranks_are_written_changes_nothing(
    order: list[int], is_late: bool
) -> None:
    def one_by_one(lines: list[str]) -> list[str]:
        return [lines[n] for n in order if n < len(lines)]

    begun = ranks("09:00:20", "Load weight begin. avail mem=79 GB", range(3))
    seen = explain(START, *one_by_one(DIST), *one_by_one(begun), *([HEALTH] if is_late else []))

    assert seen.verdict is (Verdict.STALLED if is_late else Verdict.LOADING)
    assert finding(seen, "ranks-missing").message.endswith("TP3 has not.")


def test_an_interrupt_after_a_long_silence_is_a_hang_and_an_early_one_a_stop() -> None:
    def interrupted(clock: str) -> Verdict:
        end = f"[2026-03-04 {clock}] SIGTERM received. signum=15 frame=None. Draining requests..."
        return explain(START, *DIST, end).verdict

    assert interrupted("09:01:00") is Verdict.STOPPED
    assert interrupted("09:16:00") is Verdict.STALLED

"""Real runs of SGLang 0.5.23 on two CPU cores, line by line against the catalogue."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path

import pytest
from compiled import builtin_matcher

from firedup.core.log.block import OPENERS
from firedup.core.log.line import decode_line
from firedup.core.model import Line, Stage
from firedup.core.rule import Edge, Hit, Role

RUNS = Path(__file__).parents[1] / "data" / "engine-runs" / "sglang"
EXPECT = [json.loads(line) for line in (RUNS / "expect.jsonl").read_text().splitlines()]
CAME_UP = [row["log"] for row in EXPECT if "ready" in row["verdict"]]
UNHARMED = [row["log"] for row in EXPECT if "crashed" not in row["verdict"]]
FAILED = [row["log"] for row in EXPECT if row["root_line"]]
EAGLE3 = [name for name in CAME_UP if "eagle3" in name]


@cache
def lines_of(log: str) -> tuple[Line, ...]:
    """Every record of a log; a piece that ends in a carriage return is one of its own."""
    data = (RUNS.parent / log).read_bytes()
    return tuple(
        decode_line(
            found[1],
            offset=found.start(),
            end=found.end(),
            number=data.count(b"\n", 0, found.start()) + 1,
            is_progress=found[2] == b"\r",
            year=2026,
        )
        for found in re.finditer(rb"([^\r\n]*)(\r\n|\r|\n|\Z)", data)
        if found[1]
    )


@cache
def hits_of(log: str) -> tuple[Hit, ...]:
    return tuple(hit for line in lines_of(log) for hit in builtin_matcher("sglang").match(line))


def roles(hits: list[Hit]) -> set[Role | None]:
    """What the line means: the engine's own rules overrule the shared ones."""
    judges = [hit.rule for hit in hits if hit.rule.role is not None]
    own = [rule for rule in judges if rule.engine is not None]
    return {rule.role for rule in own or judges}


def causes_in(log: str) -> list[Line]:
    return [
        line
        for line in lines_of(log)
        if Role.CAUSE in roles(list(builtin_matcher("sglang").match(line)))
    ]


def steps(log: str, rank: str | None) -> list[tuple[Stage, Edge]]:
    """Stages and edges as one rank passes them, repetitions left out."""
    found: list[tuple[Stage, Edge]] = []
    for hit in hits_of(log):
        rule = hit.rule
        if rule.stage and rule.edge and rule.role is None and hit.line.source.rank == rank:
            step = (rule.stage, rule.edge)
            if step not in found[-1:]:
                found.append(step)
    return found


@pytest.mark.parametrize("log", UNHARMED)
def test_a_run_without_a_fault_shows_no_cause(log: str) -> None:
    assert [line.text for line in causes_in(log)] == []


@pytest.mark.parametrize("log", FAILED)
def test_the_root_line_is_a_cause_or_an_exception_that_no_rule_plays_down(log: str) -> None:
    root = next(row["root_line"] for row in EXPECT if row["log"] == log).strip()
    line = next(line for line in lines_of(log) if root in line.text)
    hits = list(builtin_matcher("sglang").match(line))
    if log == "sglang/f13_tp2_kill9_rank1_load.log":  # the killed rank left no line
        assert roles(hits) == {Role.VICTIM}
    elif Role.CAUSE not in roles(hits):
        assert re.search("|".join(OPENERS), line.text)
        assert roles(hits) <= {Role.KIND}


@pytest.mark.parametrize("log", FAILED)
def test_no_cause_comes_before_the_root_line(log: str) -> None:
    root = next(row["root_line"] for row in EXPECT if row["log"] == log).strip()
    offset = next(line.offset for line in lines_of(log) if root in line.text)
    assert [line.text for line in causes_in(log) if line.offset < offset] == []


@pytest.mark.parametrize("log", CAME_UP)
def test_a_run_that_came_up_has_one_start_and_one_ready_line(log: str) -> None:
    hits = hits_of(log)
    assert sum(hit.rule.is_start for hit in hits) == 1
    assert sum(hit.rule.stage is Stage.READY for hit in hits) == 1


@pytest.mark.parametrize("log", [row["log"] for row in EXPECT])
def test_every_run_names_its_engine(log: str) -> None:
    assert any(hit.rule.is_identity for hit in hits_of(log))


@pytest.mark.parametrize("log", CAME_UP)
def test_the_operators_stop_is_seen_as_the_end_of_a_run_that_came_up(log: str) -> None:
    stop = next(hit for hit in hits_of(log) if hit.rule.is_stop)
    assert stop.rule.role is Role.TEARDOWN
    assert "SIGTERM received" in stop.line.text


@pytest.mark.parametrize("log", CAME_UP)
def test_every_bar_piece_gives_numbers_and_the_last_is_full(log: str) -> None:
    bars = [line for line in lines_of(log) if "shards:" in line.text and "%" in line.text]
    readings = [
        (int(hit.captures["done"]), int(hit.captures["total"]))
        for line in bars
        for hit in builtin_matcher("sglang").match(line)
        if hit.rule.edge is Edge.PROGRESS
    ]
    assert len(readings) == len(bars) > 0
    assert readings[-1][0] == readings[-1][1]


def test_an_unfinished_bar_has_no_time_left() -> None:
    hits = [hit for hit in hits_of("sglang/t1_toy_eagle3.log") if "done" in hit.captures]
    first = next(hit for hit in hits if hit.captures["done"] == "0")
    assert first.captures["total"] == "5"
    assert "left" not in first.captures


def test_each_of_two_ranks_passes_target_drafter_and_pools() -> None:
    passed = [
        (Stage.DIST_INIT, Edge.BEGIN),
        (Stage.DIST_INIT, Edge.END),
        (Stage.LOAD_WEIGHTS, Edge.BEGIN),
        (Stage.LOAD_WEIGHTS, Edge.END),
        (Stage.DRAFT_LOAD, Edge.BEGIN),
        (Stage.LOAD_WEIGHTS, Edge.BEGIN),
        (Stage.LOAD_WEIGHTS, Edge.END),
        (Stage.DRAFT_LOAD, Edge.END),
        (Stage.KV_CACHE, Edge.BEGIN),
        (Stage.KV_CACHE, Edge.END),
        (Stage.KV_CACHE, Edge.BEGIN),
        (Stage.KV_CACHE, Edge.END),
    ]
    assert sorted(steps("sglang/s05_tp2_eagle3.log", "TP1")) == sorted(passed)
    assert steps("sglang/s05_tp2_eagle3.log", "TP0")[: len(passed) + 1][-1] == (
        Stage.WARMUP,
        Edge.BEGIN,
    )


@pytest.mark.parametrize("log", EAGLE3)
def test_a_run_with_a_drafter_ends_its_load_by_the_drafters_class(log: str) -> None:
    ends = [hit for hit in hits_of(log) if hit.rule.id == "draft-load-end"]
    assert ends
    assert all("Eagle3" in hit.line.text for hit in ends)


def test_the_duration_that_the_engine_prints_is_captured() -> None:
    hit = next(h for h in hits_of("sglang/s02_success_omp1.log") if h.rule.id == "load-weight-end")
    assert hit.captures["seconds"] == "0.04"


@pytest.mark.parametrize(
    ("log", "lengths"),
    [
        ("sglang/t1_toy_eagle3.log", {"3.23", "3.35"}),
        ("sglang/t2_toy_eagle3_absd2t.log", {"1.00"}),
        ("sglang/t0_toy_baseline.log", set()),
    ],
)
def test_acceptance_lengths_are_read_off_the_decode_lines(log: str, lengths: set[str]) -> None:
    hits = [hit for hit in hits_of(log) if hit.rule.id == "accept-length"]
    assert {hit.captures["accept_length"] for hit in hits} == lengths


@pytest.mark.parametrize("log", CAME_UP)
def test_every_decode_line_is_a_reading(log: str) -> None:
    decodes = [line for line in lines_of(log) if "Decode batch" in line.text]
    readings = [hit for hit in hits_of(log) if hit.rule.id == "decode-batch"]
    assert len(readings) == len(decodes)


def test_a_signal_to_the_whole_group_is_no_crash() -> None:
    hits = hits_of("sglang/f14_sigterm_to_group.log")
    stop = next(hit for hit in hits if hit.rule.is_stop)
    ended = next(hit for hit in hits if hit.rule.id == "subprocess-terminated")
    assert ended.captures["exit_code"] == "-15"
    assert ended.rule.role is Role.TEARDOWN
    assert stop.line.offset < ended.line.offset


def test_a_bind_error_stays_a_cause_although_the_server_says_it_is_ready() -> None:
    hits = hits_of("sglang/f12_port_owned_by_other_server.log")
    bind = next(hit for hit in hits if hit.rule.id == "bind-failed")
    ready = next(hit for hit in hits if hit.rule.id == "fired-up")
    assert bind.line.offset < ready.line.offset
    assert bind.rule.is_final
    assert bind.captures["port"] == "31056"


def test_a_frozen_scheduler_is_a_finding_and_no_cause() -> None:
    findings = {hit.rule.finding for hit in hits_of("sglang/f11_stop_sched.log")}
    assert "health-check-failed" in findings


@pytest.mark.parametrize("log", [row["log"] for row in EXPECT])
def test_the_scan_reports_each_line_that_a_rule_meets(log: str) -> None:
    data = (RUNS.parent / log).read_bytes()
    reported = builtin_matcher("sglang").scan(data)
    for hit in hits_of(log):
        if hit.rule.role is not Role.GAUGE:
            assert any(hit.line.offset <= at < hit.line.end for at in reported), hit.line.text

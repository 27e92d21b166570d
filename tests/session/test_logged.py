"""Acceptance from the gauges of a log: what is told, and what is not believed."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from firedup.core.measure.logged import read_logged
from firedup.core.model import Explanation, Gauge, Verdict
from firedup.session.logged import read_log

RUNS = Path(__file__).parent.parent / "data/engine-runs"


def told(engine: str, version: str | None, **gauges: float) -> Explanation:
    explanation = Explanation(engine, version, Verdict.READY, None, False, 1.0)
    found = tuple(Gauge(name, v, v, v, v, 10) for name, v in gauges.items())
    return dataclasses.replace(explanation, gauges=found)


@pytest.mark.parametrize(
    ("log", "length", "windows"),
    [
        ("sglang/t1_toy_eagle3", 3.29, "2 x 40 decode steps"),
        ("vllm/d_eagle3", 3.06, "1 x 10 s"),
        ("llama-cpp/bench-final-e2n3", 2.02, "13 of its answers"),
    ],
)
def test_recorded_logs_of_every_engine_tell_a_length_and_its_windows(
    log: str, length: float, windows: str
) -> None:
    found = read_log(str(RUNS / f"{log}.log"))

    assert found.acceptance.length == pytest.approx(length, abs=0.005)
    assert found.windows is not None
    assert found.windows.startswith(windows)
    assert found.speed is not None


@pytest.mark.parametrize(
    ("log", "why_not"),
    [
        ("sglang/t0_toy_baseline", "the log has no line about acceptance"),
        ("llama-cpp/lcb-synth", "the server's acceptance is simulated: its log says so"),
        (
            "vllm/f_spec_synthetic_cpu",
            "the server's acceptance is simulated: 'rejection_sample_method': 'synthetic'",
        ),
    ],
)
def test_what_cannot_be_had_from_a_log_has_its_reason(log: str, why_not: str) -> None:
    found = read_log(str(RUNS / f"{log}.log"))

    assert (found.acceptance.length, found.acceptance.why_not) == (None, why_not)


@pytest.mark.parametrize(
    ("version", "rate"), [("0.5.9", None), ("0.5.4", None), (None, None), ("0.5.12", 0.3)]
)
def test_the_rate_that_counts_the_bonus_token_is_not_taken_for_acceptance(
    version: str | None, rate: float | None
) -> None:
    found = read_logged(told("sglang", version, accept_length=2.0, accept_rate=0.3)).acceptance

    assert (found.length, found.rate) == (2.0, rate)


def test_a_gauge_of_zero_is_no_acceptance() -> None:
    found = read_logged(told("sglang", "0.5.23", accept_length=0.0)).acceptance

    assert (found.length, found.why_not) == (None, "not one draft was verified")


def test_a_rate_alone_makes_no_length() -> None:
    found = read_logged(told("llama-cpp", "b6000", accept_rate=0.57)).acceptance

    assert (found.length, found.rate) == (None, 0.57)
    assert found.why_not is not None

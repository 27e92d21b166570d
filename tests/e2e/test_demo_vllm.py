"""`firedup demo --engine vllm` with the real engine: baseline, drafter, verdict."""

from __future__ import annotations

import os

import pytest

from tests.e2e.conftest import User

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(3600)]


@pytest.mark.skipif("FIREDUP_VLLM" not in os.environ, reason="./dev e2e could not install vLLM")
def test_the_drafter_is_measured_against_its_baseline_and_judged(user: User) -> None:
    outcome = user.firedup("demo", "--engine", "vllm", "--json", limit_s=3000)

    results = [event for event in outcome.events if event["event"] == "result"]
    plain, drafted = [event for event in outcome.events if event["event"] == "probe"]
    (load,) = drafted["decision"]["loads"]
    assert (outcome.status, [one["verdict"] for one in results]) == (0, ["ready", "ready"])
    assert plain["candidate"]["loads"][0]["acceptance_length"] is None
    assert load["acceptance_length"]["value"] > 1.5
    assert load["speed_up"]["value"] > 0
    assert outcome.events[-1]["as_expected"] is True

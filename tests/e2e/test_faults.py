"""Real servers, keepers and agents through cut links, kills and rotations: nothing is lost."""

from __future__ import annotations

import json

import pytest

import bench.__main__ as runner

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900)]


def test_ten_disturbed_runs_lose_and_double_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert runner.main(["faults", "--runs", "10"]) == 0

    figures = json.loads(capsys.readouterr().out.splitlines()[-1])["figures"]
    assert (figures["runs"], figures["differences"]) == (10, 0)
    assert figures["disturbances"] > 10

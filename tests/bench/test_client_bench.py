"""The bench of the client runs in its smallest size, and its server keeps its word."""

from __future__ import annotations

import json
from typing import Any

import pytest

import bench.__main__ as runner


def test_the_client_is_compared_with_a_minimal_one_and_counts_right(
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = ("client", "--rounds", "1", "--streams", "1,2", "--tokens", "20", "--events", "40")

    assert runner.main(list(words)) == 0

    *_, last = capsys.readouterr().out.splitlines()
    result: dict[str, Any] = json.loads(last)
    figures = result["figures"]
    assert result["bars"].keys() <= figures.keys()
    assert figures["wrong_counts"] == 0
    assert figures["minimal_us_2"] > 0
    assert figures["firedup_us_2"] > 0
    assert figures["ratio"] == max(figures["ratio_1"], figures["ratio_2"])

"""The bench of forecasts: recorded starts are enough, and most end within their interval."""

from __future__ import annotations

import json
from pathlib import Path

from bench.eta import LEAST, MOST, RECORDED, main, read_starts, tally_recorded


def test_most_of_sixty_recorded_starts_end_within_their_interval() -> None:
    kinds = read_starts(RECORDED)
    tallies = [tally_recorded(kind, rows) for kind, rows in kinds.items()]
    asked = sum(tally.asked for tally in tallies)

    assert sum(map(len, kinds.values())) >= 60
    assert LEAST <= sum(tally.inside for tally in tallies) / asked <= MOST


def test_starts_that_never_vary_are_forecast_and_too_few_are_not(tmp_path: Path) -> None:
    moments = [[0.0, None, None, None, ""], [10.0, "load-weights", 5.0, None, ""]]
    row = {"kind": "k", "ready_s": 60.0, "stages": [["load-weights", 5.0, 50.0]]}
    line = json.dumps({**row, "moments": moments}) + "\n"
    (tmp_path / "starts").write_text(line * 8)

    result = main(["--from", str(tmp_path / "starts")])

    assert result["figures"]["forecasts"] == 6
    assert result["figures"]["coverage"] == 1.0
    assert result["met"] is False

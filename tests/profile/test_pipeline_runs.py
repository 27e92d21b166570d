"""Recorded runs through the pipeline: how they are cut up changes nothing, and no prefix lies."""

import json
import random
import re
from collections import Counter
from pathlib import Path

import pytest
from compiled import builtin_matcher

from firedup.core.event import Begun, Ended, Event, Exited, Health, LogData, Sample, Token
from firedup.core.model import Explanation, Process, ServerSpec, Verdict
from firedup.profile.pipeline import Pipeline
from firedup.session.explain import explain_path

RUNS = Path(__file__).parent.parent / "data" / "engine-runs"
EXPECTED = [
    (file.parent / Path(row["log"]).name, row)
    for file in sorted(RUNS.glob("*/expect.jsonl"))
    for row in map(json.loads, file.read_text().splitlines())
]
LOGS = sorted(RUNS.glob("*/*.log"))
READY = [path for path, row in EXPECTED if "ready" in row["verdict"]]
NS = 1_000_000_000


def name(path: Path) -> str:
    return f"{path.parent.name}/{path.name}"


def explain(events: list[Event]) -> Explanation:
    pipeline = Pipeline(builtin_matcher(), year=2026)
    for event in events:
        pipeline.feed(event)
    return pipeline.snapshot(events[-1].at_ns).explanation


def sliced(data: bytes, dice: random.Random, largest: int) -> list[LogData]:
    events, at = [], 0
    while at < len(data):
        size = dice.randint(1, largest)
        events.append(LogData(0, 0, at, data[at : at + size]))
        at += size
    return events


@pytest.mark.parametrize("path", LOGS, ids=name)
def test_slicing_a_log_differently_changes_nothing(path: Path) -> None:
    data, dice = path.read_bytes(), random.Random(path.name)
    whole = explain([LogData(0, 0, 0, data), Ended(0)])

    for largest in (7 if len(data) < 8_000 else 500, 20_000):
        assert explain([*sliced(data, dice, largest), Ended(0)]) == whole


def watched(data: bytes, dice: random.Random) -> list[Event]:
    """A run of a minute: bytes, samples and answers as they may come to a session."""
    begun = Begun(0, 10**18, ServerSpec(engine=None, port=30000), pid=7, is_launched=True)
    process = Process(7, 1, 1, "python", "R", 1.0, 1 << 30)
    samples = [
        Sample(dice.randrange(60 * NS), 10**18, 0, (process,), ports=(30000,)) for _ in range(20)
    ]
    answers = [Health(dice.randrange(60 * NS), 503), Token(50 * NS, has_answered=False, error="no")]
    events: list[Event] = [*samples, *answers]
    events.sort(key=lambda event: event.at_ns)
    # The log's bytes keep their order; where samples fall between them is open.
    merged: list[Event] = []
    pieces = sliced(data, dice, 2000)
    while events or pieces:
        source = events if not pieces or (events and dice.random() < 0.3) else pieces
        merged.append(source.pop(0))
    return [begun, *merged, Exited(61 * NS, 10**18, 7, code=1)]


def without_times(explanation: Explanation) -> tuple[object, ...]:
    return (
        explanation.verdict,
        explanation.stage,
        explanation.engine,
        explanation.version,
        explanation.starts,
        [span.stage for span in explanation.stages],
        explanation.cause,
        explanation.followed,
        explanation.findings,
        explanation.gauges,
        explanation.notes,
    )


@pytest.mark.parametrize("path", LOGS, ids=name)
def test_interleaving_samples_and_answers_differently_changes_nothing(path: Path) -> None:
    data = path.read_bytes()

    first, *others = [
        without_times(explain(watched(data, random.Random(f"{path.name}{n}")))) for n in range(2)
    ]

    assert others == [first]


def shape(raw: bytes) -> bytes:
    """A line without its figures: a server prints thousands that differ in nothing else."""
    return re.sub(rb"[0-9.]+", b"0", raw)


@pytest.mark.parametrize("path", READY, ids=name)
def test_no_line_prefix_of_a_run_that_came_up_is_called_crashed(path: Path) -> None:
    pipeline, at = Pipeline(builtin_matcher(), year=2026), 0
    lines = path.read_bytes().splitlines(keepends=True)
    seen = Counter[bytes]()

    for number, raw in enumerate(lines, 1):
        pipeline.feed(LogData(0, 0, at, raw))
        at += len(raw)
        seen[shape(raw)] += 1
        if seen[shape(raw)] > 3 and number < len(lines):
            continue  # looking is what costs, and at one more of its kind there is nothing to see
        verdict = pipeline.snapshot().explanation.verdict
        assert verdict is not Verdict.CRASHED, f"line {number}: {raw!r}"


@pytest.mark.parametrize(("path", "row"), EXPECTED, ids=[name(path) for path, _ in EXPECTED])
def test_explain_agrees_with_what_is_known_of_the_run(path: Path, row: dict[str, object]) -> None:
    found = explain_path(str(path), matcher=builtin_matcher())

    assert found.verdict.value in row["verdict"]  # type: ignore[operator]
    if row["root_line"] is not None:
        assert found.cause is not None
        assert found.cause.line.strip().startswith(str(row["root_line"]).strip())
    if row["stage"] is not None:
        assert found.stage is not None
        assert found.stage.value == row["stage"]

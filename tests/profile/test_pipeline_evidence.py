"""What the pipeline makes of evidence that grows old, or that speaks against itself."""

from compiled import builtin_matcher

from firedup.core.event import (
    Begun,
    DeadlinePassed,
    Event,
    Health,
    KeeperGone,
    LogChanged,
    LogData,
    PortOwner,
    Sample,
    Token,
)
from firedup.core.model import Ownership, Process, ServerSpec, Snapshot, State, Verdict
from firedup.profile.pipeline import Pipeline

NS = 1_000_000_000
BEGUN = Begun(0, 10**18, ServerSpec(engine="sglang", port=30000), 7, 1, is_launched=True)
UP = LogData(1 * NS, 0, 0, b"The server is fired up and ready to roll!\n")
PROOF: tuple[Event, ...] = (
    PortOwner(2 * NS, 30000, Ownership.YES, 7),
    Health(2 * NS, 200),
    Token(3 * NS, has_answered=True, text="a", tokens=1),
)


def look(now_s: float, *events: Event) -> Snapshot:
    pipeline = Pipeline(builtin_matcher("sglang"), year=2026, engine="sglang")
    for event in (BEGUN, *events):
        pipeline.feed(event)
    return pipeline.snapshot(int(now_s * NS), 10**18)


def sample(at_s: int) -> Sample:
    return Sample(at_s * NS, 10**18, 0, (Process(7, 1, 1, "sglang", "S", 1.0, 1 << 30),))


def test_a_process_that_does_nothing_for_long_is_stalled() -> None:
    snapshot = look(400, *(sample(at_s) for at_s in range(1, 400)))

    assert snapshot.explanation.verdict is Verdict.STALLED


def test_without_samples_nothing_is_known_and_nothing_is_called_stalled() -> None:
    snapshot = look(4000, sample(1), sample(2), KeeperGone(2 * NS))

    assert snapshot.explanation.verdict is Verdict.LOADING
    assert snapshot.state is State.UNKEPT


def test_all_four_checks_together_make_it_ready() -> None:
    assert look(4, UP, *PROOF).explanation.verdict is Verdict.READY


def test_old_answers_prove_nothing_when_nobody_listens_any_more() -> None:
    snapshot = look(9, UP, *PROOF, PortOwner(8 * NS, 30000, None))

    assert snapshot.explanation.verdict is Verdict.LOADING
    assert snapshot.waiting_for == "port 30000 to be opened"


def test_a_server_that_answered_once_and_hangs_now_is_stalled() -> None:
    late = Token(70 * NS, has_answered=False, error="no token within 60 s", has_timed_out=True)

    snapshot = look(71, UP, *PROOF, late)

    assert snapshot.explanation.verdict is Verdict.STALLED
    assert [finding.id for finding in snapshot.explanation.findings] == ["no-token"]


def test_a_refused_token_is_a_finding_and_neither_ready_nor_stalled() -> None:
    refused = Token(4 * NS, has_answered=False, error="/v1/completions answered 500")

    snapshot = look(5, UP, *PROOF[:2], refused)

    assert snapshot.explanation.verdict is Verdict.LOADING
    assert snapshot.explanation.findings[0].evidence[0].text == "/v1/completions answered 500"


def test_a_log_that_is_not_there_is_what_is_waited_for() -> None:
    missing = LogChanged(1 * NS, "missing", 0)

    assert look(2, missing).waiting_for == "the log to appear"
    assert look(3, missing, LogChanged(2 * NS, "appeared", 0)).waiting_for != "the log to appear"


def test_the_time_limit_ends_a_start_and_not_a_server_that_is_up() -> None:
    over = DeadlinePassed(5 * NS, 5.0)

    assert look(5, over).explanation.verdict is Verdict.TIMED_OUT
    assert look(5, UP, *PROOF, over).explanation.verdict is Verdict.READY

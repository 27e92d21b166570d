"""What a run adds up to, from its log and from outside."""

from __future__ import annotations

from dataclasses import replace

from firedup.core.event import (
    Begun,
    Ended,
    Event,
    Exited,
    Health,
    LogChanged,
    LogData,
    PortOwner,
    Sample,
    StopAsked,
    Token,
)
from firedup.core.model import (
    Evidence,
    Finding,
    Line,
    Ownership,
    Process,
    ServerSpec,
    Severity,
    Snapshot,
    Stage,
    State,
    Verdict,
)
from firedup.core.rule import Edge, Hit, Role, Rule
from firedup.profile.pipeline import Pipeline

NS = 1_000_000_000
SPEC = ServerSpec(engine="sglang", port=30000)
RULES = (
    Rule("load", "LOAD", "sglang", stage=Stage.LOAD_WEIGHTS, edge=Edge.BEGIN),
    Rule("up", "UP", "sglang", stage=Stage.READY, edge=Edge.BEGIN),
    Rule("oom", "OOM", "sglang", role=Role.CAUSE, failure="out-of-memory"),
    Rule("slow", "SLOW", "sglang", role=Role.CAUSE, remedy="Less.", mentions=("--mem", "ALGO")),
    Rule("quit", "QUIT", "sglang", role=Role.WRAPPER),
    Rule("bye", "BYE", "sglang", role=Role.TEARDOWN, is_stop=True),
)
TRACE = "Traceback (most recent call last):\n  File \"a.py\", line 1, in f\nKeyError: 'x'\n"


class Plain:
    """A matcher whose patterns are plain words; every line is of interest."""

    gauge_literals: tuple[bytes, ...] = ()

    def scan(self, block: bytes) -> list[int]:
        return [0, *(at + 1 for at, byte in enumerate(block[:-1]) if byte == 0x0A)]

    def match(self, line: Line) -> tuple[Hit, ...]:
        return tuple(Hit(rule, line) for rule in RULES if rule.pattern in line.text)


class Run:
    """Feeds a pipeline; times in seconds."""

    def __init__(self, spec: ServerSpec = SPEC) -> None:
        self.pipeline = Pipeline(Plain(), year=2026, engine="sglang")
        self._offset = 0
        self.feed(Begun(0, 0, spec, 7, 1, is_launched=True))

    def feed(self, *events: Event) -> Run:
        for event in events:
            self.pipeline.feed(event)
        return self

    def log(self, second: float, text: str) -> Run:
        data = text.encode() if text.endswith("\n") else text.encode() + b"\n"
        self.feed(LogData(int(second * NS), 0, self._offset, data))
        self._offset += len(data)
        return self

    def idle(self, first: int, last: int, cpu_share: float = 0.0, state: str = "S") -> Run:
        for second in range(first, last):
            process = Process(7, 1, 1, "sglang", state, second * cpu_share, 0, 0)
            self.feed(Sample(second * NS, second * NS, self._offset, (process,), (30000,)))
        return self

    def prove(self, second: float) -> Run:
        at = int(second * NS)
        owner = PortOwner(at, 30000, Ownership.YES, 7)
        return self.feed(owner, Health(at, 200), Token(at, has_answered=True, text="blue"))

    def at(self, second: float) -> Snapshot:
        return self.pipeline.snapshot(int(second * NS), int(second * NS))

    def verdict(self, second: float) -> Verdict:
        return self.at(second).explanation.verdict


def test_an_idle_server_that_is_up_is_not_stalled() -> None:
    run = Run().log(1, "LOAD").log(2, "UP").idle(2, 900)

    assert run.verdict(900) is Verdict.LOADING  # not proved yet, and nothing wrong
    assert run.prove(900).verdict(901) is Verdict.READY


def test_a_server_that_does_nothing_while_it_starts_is_stalled() -> None:
    assert Run().log(1, "LOAD").idle(2, 400).verdict(400) is Verdict.STALLED


def test_a_frozen_server_is_stalled_even_when_it_was_up() -> None:
    assert Run().log(1, "UP").idle(2, 60, state="T").verdict(60) is Verdict.STALLED


def test_an_unknown_error_is_believed_after_a_while_of_nothing() -> None:
    run = Run().log(1, "LOAD").log(2, TRACE).idle(2, 9)

    assert run.verdict(3) is Verdict.LOADING
    assert run.verdict(9) is Verdict.CRASHED


def test_an_unknown_error_waits_while_the_processes_work() -> None:
    run = Run().log(1, "LOAD").log(2, TRACE).idle(2, 60, cpu_share=0.9)

    assert run.verdict(60) is Verdict.LOADING


def test_a_server_that_proved_itself_has_outlived_its_complaints() -> None:
    run = Run().log(1, TRACE).log(2, "QUIT").prove(3)

    assert run.verdict(30) is Verdict.READY
    assert run.at(30).state is State.SERVING


def test_what_breaks_while_firedup_stops_the_server_is_no_crash() -> None:
    run = Run().log(1, "LOAD").feed(StopAsked(2 * NS, "firedup stop")).log(3, "QUIT")

    run.feed(Exited(4 * NS, 0, 7, signal=15))
    assert run.verdict(5) is Verdict.STOPPED


def test_a_fault_before_an_orderly_looking_end_is_a_crash() -> None:
    run = Run().log(1, "LOAD").log(2, TRACE).log(3, "BYE").feed(Exited(4 * NS, 0, 7, code=1))

    explanation = run.at(5).explanation
    assert explanation.verdict is Verdict.CRASHED
    assert explanation.cause is not None
    assert explanation.cause.line == "KeyError: 'x'"


def test_a_silent_death_shows_the_last_words() -> None:
    run = Run().log(1, "LOAD").log(2, "last words").feed(Exited(3 * NS, 0, 7, code=1))

    cause = run.at(4).explanation.cause
    assert cause is not None
    assert cause.failure == "silent-exit"
    assert cause.evidence[-1].text == "last words"


def test_a_log_that_nobody_writes_any_more_is_not_ready() -> None:
    run = Run(ServerSpec(engine="sglang")).log(1, "UP")
    run.feed(Ended(9 * NS, reason="nobody writes it", is_abandoned=True))

    explanation = run.at(9).explanation
    assert explanation.verdict is not Verdict.READY
    assert "nobody writes it" in explanation.notes


def test_a_new_process_is_not_judged_by_what_the_old_one_left() -> None:
    run = Run().log(1, "LOAD").log(2, "OOM").log(3, "QUIT")
    run.feed(Begun(4 * NS, 0, SPEC, 8, 2, starts_anew=True))

    assert run.verdict(5) is Verdict.LOADING


def test_words_in_another_generation_keep_their_order() -> None:
    run = Run().log(1, "LOAD").log(2, "OOM").log(3, "QUIT")
    run.feed(LogChanged(4 * NS, "rotated", 1), LogData(5 * NS, 1, 0, b"BYE\n"))

    assert run.feed(Exited(6 * NS, 0, 7, code=1)).verdict(7) is Verdict.CRASHED


def test_offsets_are_true_after_a_hole() -> None:
    run = Run().log(1, "LOAD")
    run.feed(LogData(2 * NS, 0, 10_000, b"OOM\nQUIT\n"))

    cause = run.at(3).explanation.cause
    assert cause is not None
    assert cause.offset == 10_000


def test_asking_often_changes_nothing() -> None:
    asked, unasked = Run(), Run()
    for run in (asked, unasked):
        for second, text in ((1, "LOAD"), (2, "UP")):
            run.log(second, text)
            if run is asked:
                run.at(second)
        run.prove(3)

    assert asked.at(4) == unasked.at(4)


def test_the_time_to_ready_is_that_of_the_proof_not_of_the_look() -> None:
    run = Run().log(1, "UP").prove(3)

    assert run.at(900).ready_after_s == 3.0


def test_a_remedy_quotes_what_the_run_was_given() -> None:
    spec = replace(SPEC, argv=("serve", "--mem", "0.9"), variables=(("ALGO", "Tree"),))
    run = Run(spec).log(1, "LOAD").log(2, TRACE.replace("'x'", "SLOW"))
    run.feed(Exited(3 * NS, 3 * NS, 7, code=1))

    cause = run.pipeline.snapshot().explanation.cause
    assert cause is not None
    assert cause.remedy == "Less. This run has --mem 0.9, ALGO=Tree."


def test_a_server_that_firedup_stopped_because_it_stood_still_is_stalled_and_says_so() -> None:
    stall = Finding("no-progress", Severity.SEVERE, "Nothing moves.", (Evidence("sample", "s"),))
    run = Run().log(1, "LOAD").idle(1, 3)
    run.feed(StopAsked(3 * NS, "--on-stall stop", stall)).log(4, "BYE")
    assert run.at(5).explanation.verdict is Verdict.STALLED
    told = run.feed(Exited(6 * NS, 0, 7, signal=15)).at(7).explanation

    assert (told.verdict, told.exited, told.cause) == (Verdict.STALLED, True, None)
    (finding,) = told.findings
    assert (finding.id, finding.evidence) == ("no-progress", stall.evidence)
    assert finding.message == (
        "firedup stopped the server (--on-stall stop), since it was stalled. Nothing moves."
    )

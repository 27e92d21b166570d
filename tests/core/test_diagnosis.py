"""The first fault wins over what follows from it, and harmless lines never count."""

from __future__ import annotations

from dataclasses import replace

from firedup.core.log.block import Mark, Shape
from firedup.core.model import Line, Source, Stage
from firedup.core.rule import Hit, Role, Rule
from firedup.core.verdict.diagnosis import MAX_SUSPECTS, Aftermath, Diagnosis
from firedup.core.verdict.startup import Moment
from firedup.core.verdict.suspect import Fatality

CAUSE = Rule("out-of-memory", "", "sglang", role=Role.CAUSE, failure="cuda-out-of-memory")
WRAPPER = Rule("sigquit", "", "sglang", role=Role.WRAPPER)
VICTIM = Rule("barrier", "", role=Role.VICTIM, failure="rank-missing")
BENIGN = Rule("noise", "", "sglang", role=Role.BENIGN)
STOP = Rule("sigterm", "", role=Role.TEARDOWN, is_stop=True)


class Story:
    """Feeds a diagnosis line by line."""

    def __init__(self) -> None:
        self.diagnosis = Diagnosis()
        self._at = 0

    def add(
        self,
        text: str,
        *rules: Rule,
        shape: Shape = Shape.PLAIN,
        rank: str | None = None,
        block: int | None = None,
        ready: bool = False,
        host_s: float | None = None,
        level: str | None = None,
        stage: Stage = Stage.LOAD_WEIGHTS,
    ) -> Story:
        self._at += 100
        line = Line(self._at, self._at + 99, self._at // 100, text, text, Source(rank), level=level)
        mark = Mark(shape, Source(rank), block)
        hits = tuple(Hit(rule, line) for rule in rules)
        at = Moment(None if host_s is None else int(host_s * 1e9), None)
        self.diagnosis.feed(line, mark, hits, stage=stage, at=at, is_ready=ready)
        return self

    def cause(self) -> str | None:
        found = self.diagnosis.cause()
        return found.line if found else None


def test_the_cause_wins_over_the_wrapper_that_follows() -> None:
    story = Story().add("oom", CAUSE, rank="TP5").add("Received sigquit", WRAPPER)
    cause = story.diagnosis.cause()

    assert cause is not None
    assert (cause.line, cause.failure, cause.rank) == ("oom", "cuda-out-of-memory", "TP5")
    assert [item.role for item in story.diagnosis.followed(cause)] == ["wrapper"]


def test_a_wrapper_that_quotes_the_cause_does_not_become_it() -> None:
    story = Story().add("Capture failed: oom", WRAPPER, CAUSE).add("oom", CAUSE)

    assert story.cause() == "oom"


def test_a_wrapper_alone_stands_in_and_lends_the_class_that_it_quotes() -> None:
    cause = Story().add("failed: oom", WRAPPER, CAUSE).diagnosis.cause()

    assert cause is not None
    assert cause.failure == "cuda-out-of-memory"


def test_a_victim_that_names_the_failure_is_better_than_a_bare_wrapper() -> None:
    story = Story().add("Scheduler hit an exception", WRAPPER).add("others missing", VICTIM)

    assert story.cause() == "others missing"


def test_a_harmless_line_is_never_a_suspect() -> None:
    story = Story().add("Ignore import error: KeyError: 'x'", BENIGN, CAUSE, shape=Shape.LONE)

    assert story.diagnosis.fatality() is Fatality.NONE
    assert story.cause() is None


def test_the_innermost_exception_of_a_chain_is_the_unknown_cause() -> None:
    story = Story()
    story.add("KeyError: 'a'", shape=Shape.EXCEPTION, block=1)
    story.add("ValueError: b", shape=Shape.EXCEPTION, block=1)

    assert story.cause() == "KeyError: 'a'"


def test_an_exception_that_a_rule_knows_wins_within_its_chain() -> None:
    story = Story()
    story.add("KeyError: 'a'", shape=Shape.EXCEPTION, block=1)
    story.add("oom", CAUSE, shape=Shape.EXCEPTION, block=1)

    assert story.cause() == "oom"


def test_an_exception_after_which_its_rank_goes_on_is_survived() -> None:
    story = Story().add("KeyError: 'a'", shape=Shape.EXCEPTION, block=1, rank="TP0")
    story.diagnosis.go_on("TP0", Aftermath.STAGE)

    assert story.diagnosis.fatality() is Fatality.NONE


def test_progress_of_another_rank_does_not_forgive() -> None:
    story = Story().add("KeyError: 'a'", shape=Shape.EXCEPTION, block=1, rank="TP0")
    story.diagnosis.go_on("TP1", Aftermath.NEW_STAGE)

    assert story.diagnosis.fatality() is Fatality.LIKELY


def test_a_server_that_came_up_has_outlived_even_known_causes() -> None:
    story = Story().add("oom", CAUSE)
    story.diagnosis.go_on(None, Aftermath.UP)

    assert story.diagnosis.fatality() is Fatality.NONE


def test_a_final_failure_is_not_outlived_by_the_word_ready() -> None:
    story = Story().add("cannot bind", replace(CAUSE, is_final=True))
    story.diagnosis.go_on(None, Aftermath.UP)

    assert story.diagnosis.fatality() is Fatality.CERTAIN


def test_failed_requests_of_a_living_server_are_no_crash() -> None:
    story = Story().add("ValueError: too long", shape=Shape.EXCEPTION, block=1, ready=True)

    assert story.diagnosis.fatality() is Fatality.NONE


def test_what_breaks_after_the_operators_stop_is_no_crash() -> None:
    story = Story().add("SIGTERM received", STOP).add("Received sigquit", WRAPPER)

    assert story.diagnosis.fatality() is Fatality.NONE
    assert story.diagnosis.stop_line is not None


def test_a_crash_before_the_operators_stop_remains_one() -> None:
    story = Story().add("oom", CAUSE, shape=Shape.EXCEPTION, block=1).add("SIGTERM received", STOP)

    assert story.diagnosis.fatality() is Fatality.CERTAIN


def test_the_remedy_fits_the_stage() -> None:
    rule = replace(CAUSE, remedy="any", remedies={Stage.LOAD_WEIGHTS: "fewer weights"})
    cause = Story().add("oom", rule).diagnosis.cause()

    assert cause is not None
    assert cause.remedy == "fewer weights"


def test_the_source_line_of_a_frame_only_quotes_a_message() -> None:
    story = Story().add('    raise ValueError("out of memory")', CAUSE, shape=Shape.FRAME, block=1)

    assert story.diagnosis.fatality() is Fatality.NONE


def test_what_the_main_process_said_is_forgiven_when_somebody_enters_a_new_stage() -> None:
    story = Story().add("KeyError: 'a'", shape=Shape.EXCEPTION, block=1)
    story.diagnosis.go_on("TP1", Aftermath.STAGE)
    assert story.diagnosis.fatality() is Fatality.LIKELY

    story.diagnosis.go_on("TP1", Aftermath.NEW_STAGE)
    assert story.diagnosis.fatality() is Fatality.NONE


def test_torchs_name_of_a_rank_is_the_engines_rank() -> None:
    story = Story().add("KeyError: 'a'", shape=Shape.EXCEPTION, block=1, rank="rank3")
    story.diagnosis.go_on("TP3", Aftermath.STAGE)

    assert story.diagnosis.fatality() is Fatality.NONE


def test_proof_outlives_wrappers_too_but_not_what_is_final() -> None:
    story = Story().add("worker failed", WRAPPER).add("oom", CAUSE)
    story.diagnosis.go_on(None, Aftermath.UP)
    assert story.diagnosis.fatality() is Fatality.CERTAIN

    story.diagnosis.go_on(None, Aftermath.PROVEN)
    assert story.diagnosis.fatality() is Fatality.NONE


def test_a_failed_request_is_not_the_cause_of_a_later_death() -> None:
    story = Story().add("ValueError: bad", shape=Shape.EXCEPTION, block=1, ready=True)
    story.diagnosis.go_on(None, Aftermath.SERVING)
    story.add("worker died", WRAPPER, ready=True)

    assert story.cause() == "worker died"


def test_an_error_named_in_passing_yields_to_better_evidence() -> None:
    story = Story().add("WARNING: KeyError: 'x'", shape=Shape.LONE)

    assert story.diagnosis.cause(allows_weak=False) is None
    assert story.cause() == "WARNING: KeyError: 'x'"


def test_a_missing_package_named_in_passing_is_no_certain_crash() -> None:
    missing = replace(CAUSE, engine=None)
    story = Story().add("no flash: ModuleNotFoundError: …", missing, shape=Shape.LONE, rank="TP0")

    assert story.diagnosis.fatality() is Fatality.LIKELY
    story.diagnosis.go_on("TP0", Aftermath.STAGE)
    assert story.diagnosis.fatality() is Fatality.NONE


def test_a_compiler_that_complains_later_is_not_the_argument_parser() -> None:
    text = "gcc: error: unrecognized command-line option"
    late = Story().add(text, shape=Shape.USAGE)
    early = Story().add("x: error: bad flag", shape=Shape.USAGE, stage=Stage.ARGS)

    assert late.diagnosis.fatality() is Fatality.LIKELY
    assert early.diagnosis.fatality() is Fatality.CERTAIN


def test_what_breaks_after_firedup_was_asked_to_stop_is_no_crash() -> None:
    story = Story().add("all well", STOP)
    story = Story().add("Received sigquit", WRAPPER, host_s=10.5)
    story.diagnosis.stop_asked_ns = 10_000_000_000

    assert story.diagnosis.fatality() is Fatality.NONE


def test_thousands_of_failed_requests_do_not_hide_the_end() -> None:
    story = Story()
    for _ in range(MAX_SUSPECTS + 10):
        story.add("ValueError: bad", shape=Shape.EXCEPTION, ready=True)
    story.add("out of memory", CAUSE, ready=True).add("engine died", WRAPPER, ready=True)

    story.diagnosis.go_on(None, Aftermath.SERVING)
    cause = story.diagnosis.cause()
    assert cause is not None
    assert cause.line == "out of memory"
    assert story.diagnosis.fatality() is Fatality.CERTAIN


def test_a_bare_line_is_a_likely_fault_only_until_something_supports_it() -> None:
    story = Story().add("oom", CAUSE)
    assert story.diagnosis.fatality() is Fatality.LIKELY

    story.add("Received sigquit", WRAPPER)
    assert story.diagnosis.fatality() is Fatality.CERTAIN


def test_what_the_engine_calls_a_warning_is_no_fault() -> None:
    story = Story().add("could not fetch, will try again", CAUSE, level="WARNING")

    assert story.diagnosis.fatality() is Fatality.NONE


def test_a_member_is_the_cause_and_not_the_group_that_holds_it() -> None:
    story = Story().add("ExceptionGroup: unhandled errors", shape=Shape.GROUP, block=1)
    assert story.cause() == "ExceptionGroup: unhandled errors"

    story.add("ValueError: too small", shape=Shape.EXCEPTION, block=2)
    assert story.cause() == "ValueError: too small"

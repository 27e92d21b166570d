"""A server whose engine has died behind an API that lives on, and what does not count as that."""

from dataclasses import replace

import pytest
from test_judgement import NS, Run

from firedup.core.event import Exited, Health, Sample, StopAsked, Token
from firedup.core.model import Process, ServerSpec, Stage, Verdict
from firedup.profile.pipeline import Pipeline

SPEC = ServerSpec(engine="sglang", port=30000, vital=("sglang::scheduler", "sglang::detokenizer"))
API = Process(7, 1, 1, "python3", "S", 0.0, 9, 0, threads=4)
SCHEDULER = Process(
    20, 5, 7, "sglang::schedul", "S", 0.0, 9, 0, threads=4, title="sglang::scheduler_TP0"
)
OTHER = replace(SCHEDULER, pid=21, title="sglang::scheduler_TP1")


class Tree(Run):
    """A run whose samples are of trees; times in seconds."""

    def __init__(self, spec: ServerSpec = SPEC) -> None:
        super().__init__(spec)
        self.log(1, "UP")

    def seen(self, first: int, last: int, *processes: Process, **facts: int) -> "Tree":
        for second in range(first, last):
            sample = Sample(second * NS, second * NS, 3, (API, *processes), (30000,), **facts)  # type: ignore[arg-type]  # fields by name
            self.feed(sample)
        return self


def test_a_server_without_its_engine_has_crashed_although_its_api_lives() -> None:
    tree = Tree().seen(2, 6, SCHEDULER, OTHER).prove(4).seen(6, 20, OTHER)
    tree.feed(Health(12 * NS, 200))

    assert tree.at(15).explanation.verdict is Verdict.READY
    last = tree.at(17)

    assert last.explanation.verdict is Verdict.CRASHED
    assert last.explanation.exited is False
    assert last.explanation.served_s == 5.0
    cause = last.explanation.cause
    assert cause is not None
    assert (cause.failure, cause.stage) == ("worker-died", Stage.SERVING)
    assert cause.line == "sglang::scheduler_TP0 (pid 20) ended"
    assert [evidence.text for evidence in cause.evidence] == [
        "sglang::scheduler_TP0 (pid 20) ended",
        "python3 (pid 7), the server's main process, lives",
    ]
    assert "its main process goes on" in cause.meaning


@pytest.mark.parametrize(
    ("status", "failure", "how"),
    [
        (9, "killed", "was ended by SIGKILL (signal 9)"),
        (139, "segmentation-fault", "was ended by SIGSEGV (signal 11)"),
        (1 << 8, "worker-died", "ended with exit status 1"),
    ],
)
def test_a_zombie_tells_how_it_ended(status: int, failure: str, how: str) -> None:
    body = replace(SCHEDULER, state="Z", title=None, wait_status=status)
    tree = Tree().seen(2, 6, SCHEDULER).prove(4).seen(6, 20, body)

    cause = tree.at(19).explanation.cause

    assert cause is not None
    assert cause.failure == failure
    assert cause.line == f"sglang::scheduler_TP0 (pid 20) {how}"


def test_the_kernel_s_kill_for_want_of_memory_is_the_cause() -> None:
    tree = Tree().seen(2, 6, SCHEDULER, oom_kills=3).prove(4).seen(6, 20, oom_kills=4)

    cause = tree.at(19).explanation.cause

    assert cause is not None
    assert cause.failure == "host-out-of-memory"


def test_what_the_log_says_of_it_is_the_better_cause() -> None:
    tree = Tree().seen(2, 6, SCHEDULER).prove(4).log(5, "OOM").seen(6, 20)

    cause = tree.at(19).explanation.cause

    assert cause is not None
    assert cause.rule == "sglang/oom"


def test_an_exit_status_of_0_does_not_hide_the_engine_s_death() -> None:
    tree = Tree().seen(2, 6, SCHEDULER).prove(4).seen(6, 9).log(9, "BYE")
    tree.feed(Exited(int(9.5 * NS), 0, 7, code=0))

    last = tree.at(10)

    assert last.explanation.verdict is Verdict.CRASHED
    assert last.explanation.served_s == 5.0
    assert last.explanation.cause is not None
    assert last.explanation.cause.failure == "worker-died"


@pytest.mark.parametrize("said", ["BYE", None])
def test_an_engine_that_goes_with_its_server_is_no_crash(said: str | None) -> None:
    tree = Tree().seen(2, 6, SCHEDULER).prove(4)
    if said is not None:
        tree.log(5.5, said)
    else:
        tree.feed(StopAsked(int(5.5 * NS), "firedup stop"))

    assert tree.seen(6, 40).at(40).explanation.cause is None
    tree.feed(Exited(41 * NS, 0, 7, code=0))
    assert tree.at(42).explanation.verdict is Verdict.STOPPED


def test_a_signal_that_ends_children_first_is_no_crash() -> None:
    tree = Tree().seen(2, 6, SCHEDULER).prove(4).seen(6, 12)
    tree.feed(Exited(12 * NS, 0, 7, signal=15))

    assert tree.at(13).explanation.verdict is Verdict.STOPPED


def test_what_generates_after_that_still_serves() -> None:
    tree = Tree().seen(2, 6, SCHEDULER, OTHER).prove(4).seen(6, 10, OTHER)
    tree.feed(Token(10 * NS, has_answered=True)).seen(10, 60, OTHER)  # it was scaled down

    assert tree.at(60).explanation.verdict is Verdict.READY


def test_one_that_takes_the_place_of_another_takes_the_loss_back() -> None:
    anew = replace(SCHEDULER, pid=99)
    tree = Tree().seen(2, 6, SCHEDULER).prove(4).seen(6, 9).seen(9, 60, anew)

    assert tree.at(60).explanation.verdict is Verdict.READY
    assert tree.seen(60, 80).at(80).explanation.verdict is Verdict.CRASHED


def test_equal_titles_do_not_stand_for_one_another() -> None:
    twin = replace(SCHEDULER, pid=22)
    tree = Tree().seen(2, 6, SCHEDULER, twin).prove(4).seen(6, 20, twin)

    assert tree.at(20).explanation.verdict is Verdict.CRASHED


def test_children_on_their_way_to_another_program_and_helpers_are_not_missed() -> None:
    forked = replace(SCHEDULER, pid=30, parent=20)
    helper = replace(SCHEDULER, pid=31, name="nvcc", title=None)
    tree = Tree().seen(2, 6, SCHEDULER, forked, helper).prove(4).seen(6, 60, SCHEDULER)

    assert tree.at(60).explanation.verdict is Verdict.READY


def test_a_name_that_the_kernel_cut_is_enough_and_so_is_a_rank() -> None:
    cut = replace(SCHEDULER, title=None)
    ranked = replace(SCHEDULER, name="worker_TP3", title=None)
    for process in (cut, ranked):
        tree = Tree().seen(2, 6, process).prove(4).seen(6, 20)
        assert tree.at(20).explanation.verdict is Verdict.CRASHED


def test_before_a_server_was_up_its_stages_judge_it() -> None:
    run = Run(SPEC).log(1, "LOAD")
    for second in range(2, 60):
        tree = (API, SCHEDULER) if second < 6 else (API,)
        run.feed(Sample(second * NS, second * NS, 3, tree))

    assert run.at(60).explanation.verdict is Verdict.LOADING


def test_a_later_start_begins_without_the_losses_of_the_one_before() -> None:
    tree = Tree().seen(2, 6, SCHEDULER).prove(4).seen(6, 20)
    begun = tree.pipeline._outside.begun  # the same event, fed once more
    assert begun is not None
    tree.feed(replace(begun, at_ns=21 * NS, starts_anew=True)).log(22, "UP").seen(22, 60)

    assert isinstance(tree.pipeline, Pipeline)
    assert tree.at(60).explanation.verdict is not Verdict.CRASHED

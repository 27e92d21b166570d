"""Ranks from sample to sample: which of them work, which spin, and who holds the others up."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from firedup.core.event import Begun, Exited, LogData, Sample, Token
from firedup.core.machine import Gpu, OpenFile
from firedup.core.model import Process, ServerSpec, Stage, Verdict
from firedup.core.verdict.hold import Stall, tell_work
from firedup.core.verdict.liveness import Liveness
from firedup.core.verdict.patience import Patience
from firedup.profile.pipeline import Pipeline

NS = 1_000_000_000
MIB = 1 << 20
NAME = "sglang::scheduler_TP"
Doing = Callable[[int], dict[str, object]]


def process(pid: int, title: str | None = None, **facts: object) -> Process:
    known: dict[str, object] = {"cpu_s": 0.0, "rss_bytes": 99 * MIB, "read_bytes": 0, "threads": 9}
    known |= {"minor_faults": 0, "state": "S", "parent": 10, **facts}
    return Process(pid, 1, name=(title or "python3")[:15], title=title, **known)  # type: ignore[arg-type]  # fields by name


def asleep(second: int) -> dict[str, object]:
    return {"cpu_s": second * 0.01}


def spinning(second: int) -> dict[str, object]:
    return {"cpu_s": second * 0.98, "state": "R"}


def reading(second: int) -> dict[str, object]:
    return {"cpu_s": second * 0.01, "read_bytes": second * 3 * MIB}


def touching(second: int) -> dict[str, object]:
    return {"cpu_s": second * 0.3, "minor_faults": second * 4000}


def stopped(second: int) -> dict[str, object]:
    return {"state": "T" if second >= 100 else "S", "cpu_s": min(second, 100) * 0.5}


def in_pipe(second: int) -> dict[str, object]:
    return {"wait_channel": "anon_pipe_write"}


def in_kernel(second: int) -> dict[str, object]:
    return {"state": "D", "wait_channel": "rpc_wait_bit_killable"}


def slow_disk(second: int) -> dict[str, object]:
    return {"state": "D", "wait_channel": "folio_wait_bit", "read_bytes": second * MIB}


def watch(
    *ranks: Doing, seconds: int, gpus: Callable[[int], tuple[Gpu, ...]] = lambda _: ()
) -> Liveness:
    """A launcher that sleeps (pid 10), and below it ranks from pid 20 on that do as they do."""
    liveness = Liveness()
    for second in range(seconds):
        tree = [process(10, rss_bytes=9 * MIB, parent=1, **asleep(second))]
        tree += [process(20 + n, f"{NAME}{n}", **do(second)) for n, do in enumerate(ranks)]
        liveness.feed(Sample(second * NS, 0, 5, tuple(tree), gpus=gpus(second)))
    return liveness


def stall_of(liveness: Liveness, stage: Stage = Stage.LOAD_WEIGHTS) -> Stall | None:
    assert liveness.sample is not None
    return liveness.find_stall(liveness.sample.at_ns, stage)


@pytest.mark.parametrize(
    "ranks",
    [
        (reading, reading, reading, reading),
        (touching, touching, touching, touching),  # from the page cache
        (reading, asleep, asleep, asleep),  # one reads for all
        (touching, spinning, spinning, spinning),  # one compiles for all
        (spinning, asleep, asleep, asleep),
        (spinning, spinning, spinning, spinning),  # repacking after a full bar
        (slow_disk, slow_disk, slow_disk, slow_disk),
    ],
)
def test_a_silent_start_that_gets_on_in_any_way_is_no_stall(ranks: tuple[Doing, ...]) -> None:
    assert stall_of(watch(*ranks, seconds=1500)) is None


def test_ranks_that_all_sleep_are_stalled_once_the_stage_cannot_explain_it() -> None:
    assert stall_of(watch(*[asleep] * 4, seconds=180)) is None
    found = stall_of(watch(*[asleep] * 4, seconds=200))

    assert found is not None
    assert found.finding == "no-progress"
    assert stall_of(watch(*[asleep] * 4, seconds=200), Stage.DIST_INIT) is None


def test_the_housekeeping_of_many_processes_is_no_progress() -> None:
    assert stall_of(watch(*[asleep] * 30, seconds=200)) is not None  # 30 % of a core in all


def test_one_rank_that_sleeps_while_the_others_spin_is_named() -> None:
    ranks = (spinning, spinning, asleep, spinning)
    found = stall_of(watch(*ranks, seconds=140))

    assert stall_of(watch(*ranks, seconds=110)) is None
    assert found is not None
    assert found.finding == "rank-idle"
    assert found.message.startswith("TP2 (pid 22) does nothing, while 3 ranks only burn CPU time")
    assert "TP2 (pid 22): has done nothing" in found.evidence[0].text
    assert not found.is_held
    assert stall_of(watch(*ranks, seconds=140), Stage.COMPILE) is None


def test_of_two_ranks_it_takes_longer_to_say_which_one_is_waited_for() -> None:
    assert stall_of(watch(asleep, spinning, seconds=300)) is None
    found = stall_of(watch(asleep, spinning, seconds=620))
    assert found is not None
    assert found.message.startswith("TP0 (pid 20) does nothing, while 1 rank only burns")


def test_a_rank_whose_gpu_is_busy_is_not_the_one_that_is_waited_for() -> None:
    def gpus(_: int) -> tuple[Gpu, ...]:
        return tuple(Gpu(n, 9, 99, 100 if n == 2 else 0, ((20 + n, 5),)) for n in range(4))

    ranks = (spinning, spinning, asleep, spinning)
    assert stall_of(watch(*ranks, seconds=200, gpus=gpus)) is None


def test_a_rank_that_a_signal_stopped_is_named_soon_although_the_others_go_on() -> None:
    found = stall_of(watch(touching, stopped, touching, seconds=112))

    assert stall_of(watch(touching, stopped, touching, seconds=108)) is None
    assert found is not None
    assert (found.finding, found.is_held) == ("rank-stopped", True)
    assert found.message.startswith("TP1 (pid 21) has been stopped by a signal")
    assert "kill -CONT 21" in found.remedy


def test_a_full_pipe_is_named() -> None:
    found = stall_of(watch(in_pipe, asleep, seconds=70))

    assert stall_of(watch(in_pipe, asleep, seconds=50)) is None
    assert found is not None
    assert (found.finding, found.is_held) == ("output-blocked", True)
    assert "anon_pipe_write" in found.evidence[0].text


def test_a_wait_in_the_kernel_is_named_with_its_place() -> None:
    found = stall_of(watch(in_kernel, spinning, spinning, seconds=130))

    assert stall_of(watch(in_kernel, spinning, spinning, seconds=110)) is None
    assert found is not None
    assert found.finding == "waits-in-kernel"
    assert "state D in rpc_wait_bit_killable" in found.evidence[0].text


def test_spinning_that_leads_to_nothing_ends_the_patience_at_last() -> None:
    found = stall_of(watch(spinning, spinning, seconds=1810))

    assert found is not None
    assert found.finding == "spins"


def test_a_gpu_that_is_filled_is_progress_and_somebody_elses_is_none() -> None:
    def filled(second: int) -> tuple[Gpu, ...]:
        return (Gpu(0, second * 100 * MIB, 1 << 40, 0, ((20, 5),)),)

    def others(second: int) -> tuple[Gpu, ...]:
        return (Gpu(0, 5, 9, 0, ((20, 5),)), Gpu(1, second * 100 * MIB, 1 << 40, 99))

    assert stall_of(watch(asleep, asleep, seconds=400, gpus=filled)) is None
    assert stall_of(watch(asleep, asleep, seconds=400, gpus=others)) is not None


def test_gpus_that_name_no_process_count_for_all() -> None:
    def filled(second: int) -> tuple[Gpu, ...]:
        return (Gpu(0, second * 100 * MIB, 1 << 40),)

    assert stall_of(watch(asleep, asleep, seconds=400, gpus=filled)) is None


def test_processes_that_are_born_are_progress() -> None:
    liveness = Liveness()
    for second in range(400):
        born = process(50 + second // 100)
        liveness.feed(Sample(second * NS, 0, 5, (process(10), born)))

    assert stall_of(liveness) is None


def test_workers_without_a_rank_are_named_by_their_pid() -> None:
    liveness = Liveness()
    for second in range(140):
        tree = [process(10, parent=1), *(process(20 + n, **spinning(second)) for n in range(3))]
        tree.append(process(23, **asleep(second)))
        liveness.feed(Sample(second * NS, 0, 5, tuple(tree)))
    found = stall_of(liveness)

    assert found is not None
    assert found.message.startswith("python3 (pid 23) does nothing")


def test_the_work_of_a_ranks_own_children_is_its_own() -> None:
    liveness = Liveness()
    for second in range(300):
        tree = [process(20 + n, f"{NAME}{n}", **spinning(second)) for n in range(3)]
        tree += [
            process(23, f"{NAME}3", **asleep(second)),
            process(90, parent=23, **touching(second)),
        ]
        liveness.feed(Sample(second * NS, 0, 5, tuple(tree)))

    assert stall_of(liveness) is None


def test_samples_of_earlier_versions_are_judged_as_they_were() -> None:
    liveness = Liveness()
    for second in range(200):
        old = [Process(7 + n, 1, 1, "sglang", "S", second * 0.01, 9, 0) for n in range(3)]
        old[1] = Process(8, 1, 1, "sglang", "T", 0.0, 9, 0)
        liveness.feed(Sample(second * NS, 0, 5, tuple(old)))

    assert liveness.find_stall(200 * NS, Stage.LOAD_WEIGHTS) is None  # 2 % in all, one is stopped


def test_what_a_silent_start_reads_can_be_told() -> None:
    liveness = watch(reading, reading, seconds=30)
    liveness.motions.files = (OpenFile(20, "/m/model-3-of-9.safetensors", 3_000_000_000),)

    assert [item.text for item in tell_work(liveness.motions)] == [
        "2 processes read 6 MB/s",
        "pid 20 has model-3-of-9.safetensors open, read up to 3,000 MB",
    ]


def test_patience_can_be_made_shorter_as_a_whole() -> None:
    patience = Patience(0.1)

    assert patience.idle_s(Stage.LOAD_WEIGHTS) == pytest.approx(18)
    assert patience.idle_s(Stage.LOAD_WEIGHTS, own_s=60.0) == 60
    assert patience.odd_s(Stage.DIST_INIT, is_even=False) == pytest.approx(60)


class Nothing:
    """A matcher that knows no line."""

    gauge_literals: tuple[bytes, ...] = ()

    def scan(self, block: bytes) -> list[int]:
        return []

    def match(self, line: object) -> tuple[()]:
        return ()


def started(**about: object) -> Pipeline:
    pipeline = Pipeline(Nothing(), year=2026, engine="sglang")
    spec = ServerSpec(engine="sglang")
    pipeline.feed(Begun(0, 0, spec, 10, 1, is_launched=True, **about))  # type: ignore[arg-type]  # fields by name
    return pipeline


def test_a_limit_of_ones_own_ends_a_stage_that_works() -> None:
    pipeline = started(stage_limits=(("args", 60.0), ("load-weights", 9.0)))
    for second in range(70):
        pipeline.feed(Sample(second * NS, 0, 0, (process(10, **touching(second)),)))

    assert pipeline.snapshot(59 * NS).explanation.verdict is Verdict.LOADING
    explanation = pipeline.snapshot(61 * NS).explanation
    assert explanation.verdict is Verdict.STALLED
    assert explanation.findings[0].id == "stage-limit"
    assert explanation.findings[0].evidence[0].text == "--stage-timeout args=60s"


def test_a_limit_of_ones_own_may_allow_more_than_the_built_in_patience() -> None:
    pipeline = started(stage_limits=(("args", 600.0),))
    for second in range(400):
        pipeline.feed(Sample(second * NS, 0, 0, (process(10, **asleep(second)),)))

    assert pipeline.snapshot(400 * NS).explanation.verdict is Verdict.LOADING


def test_a_server_that_proved_itself_is_stalled_while_one_of_its_ranks_is_stopped() -> None:
    pipeline = started()
    pipeline.feed(LogData(NS, 0, 0, b"hello\n"))
    pipeline.feed(Token(NS, has_answered=True, is_skipped=False))
    verdicts = []
    for second in range(200):
        rank = stopped(second) if second < 150 else asleep(second)
        tree = (process(10, **asleep(second)), process(20, f"{NAME}0", **rank))
        pipeline.feed(Sample(second * NS, 0, 6, tree))
        verdicts.append(pipeline.snapshot(second * NS).explanation.verdict)

    before, during, after = verdicts[99], verdicts[120], verdicts[-1]
    assert during is Verdict.STALLED
    assert before == after != Verdict.STALLED  # taken back, and idle it may be


def test_an_end_is_stronger_than_a_stall() -> None:
    pipeline = started()
    for second in range(120):
        pipeline.feed(Sample(second * NS, 0, 0, (process(10, **stopped(second)),)))
    pipeline.feed(Exited(121 * NS, 0, 10, code=1))

    assert pipeline.snapshot(122 * NS).explanation.verdict is Verdict.CRASHED

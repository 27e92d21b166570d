"""Stage hits tell where each rank is, how long stages took and where the bar stands."""

from __future__ import annotations

import pytest

from firedup.core.model import Line, Source, Stage
from firedup.core.rule import Edge, Hit, Rule
from firedup.core.verdict.eta import parse_clock, remaining_of_bar
from firedup.core.verdict.startup import Moment, Startup

NS = 1_000_000_000


def hit(stage: str, edge: str | None = "begin", rank: str | None = None, **captures: str) -> Hit:
    rule = Rule("r", "", stage=Stage(stage), edge=Edge(edge) if edge else None, unit="shards")
    return Hit(rule, Line(0, 1, 1, "", "", Source(rank)), captures)


def at(seconds: float) -> Moment:
    return Moment(int(seconds * NS), None)


def feed(startup: Startup, *steps: tuple[float, Hit]) -> Startup:
    for seconds, found in steps:
        startup.feed(found, at(seconds))
    return startup


def seconds_of(startup: Startup) -> dict[str, float | None]:
    return {span.stage.value: span.seconds for span in startup.spans(use_host=True)}


def test_a_stage_lasts_until_its_end_is_said() -> None:
    startup = feed(
        Startup(), (1, hit("load-weights")), (314.2, hit("load-weights", "end", seconds="313.0"))
    )

    assert seconds_of(startup) == {"load-weights": pytest.approx(313.2)}


def test_a_stage_without_an_end_lasts_until_the_next_begins() -> None:
    startup = feed(Startup(), (1, hit("kv-cache", None)), (3, hit("graph-capture")))

    assert seconds_of(startup) == {"kv-cache": 2.0, "graph-capture": None}


def test_the_slowest_rank_ends_the_stage() -> None:
    startup = feed(
        Startup(),
        (1, hit("load-weights", rank="TP0")),
        (1, hit("load-weights", rank="TP1")),
        (5, hit("load-weights", "end", "TP0", seconds="4.0")),
        (9, hit("load-weights", "end", "TP1", seconds="8.0")),
    )

    (span,) = startup.spans(use_host=True)
    assert (span.seconds, span.rank) == (8.0, "TP1")


def test_ranks_that_lag_behind_are_known() -> None:
    startup = feed(
        Startup(),
        *((1, hit("load-weights", rank=f"TP{n}")) for n in (0, 2, 10)),
        (2, hit("load-weights", "end", "TP0")),
        (2, hit("load-weights", "end", "TP10")),
    )

    assert [(rank.rank, rank.has_finished) for rank in startup.ranks()] == [
        ("TP0", True),
        ("TP2", False),
        ("TP10", True),
    ]


def test_the_second_load_of_a_rank_is_the_drafters() -> None:
    startup = feed(
        Startup(),
        (1, hit("load-weights", rank="TP0")),
        (2, hit("load-weights", "end", "TP0")),
        (3, hit("load-weights", rank="TP0")),
        (3.5, hit("load-weights", "progress", None, done="1", total="2", elapsed="00:00")),
    )

    assert startup.stage is Stage.DRAFT_LOAD
    assert startup.progress is not None
    assert startup.progress.stage is Stage.DRAFT_LOAD


def test_drafter_lines_that_look_like_the_targets_stay_with_the_drafter() -> None:
    startup = feed(
        Startup(),
        (1, hit("load-weights", rank="TP0")),
        (2, hit("load-weights", "end", "TP0")),
        (3, hit("draft-load", rank="TP0")),
        (4, hit("load-weights", "progress", "TP0", done="1", total="1")),
    )

    assert startup.stage_of("TP0") is Stage.DRAFT_LOAD


def test_a_full_bar_is_not_the_end_of_the_stage() -> None:
    startup = feed(
        Startup(),
        (1, hit("load-weights")),
        (61, hit("load-weights", "progress", done="64", total="64", elapsed="01:00")),
    )

    (span,) = startup.spans(use_host=True)
    assert not span.is_over
    assert startup.progress is not None
    assert startup.progress.remaining_s is None


def test_the_bars_own_clock_counts() -> None:
    startup = feed(
        Startup(),
        (500, hit("load-weights", "progress", done="16", total="64", elapsed="00:40")),
    )

    assert startup.progress is not None
    assert (startup.progress.elapsed_s, startup.progress.remaining_s) == (40.0, 120.0)


def test_a_stage_that_comes_back_lasts_as_long_as_its_parts() -> None:
    startup = feed(
        Startup(),
        (1, hit("graph-capture")),
        (11, hit("graph-capture", "end")),
        (12, hit("graph-capture")),
        (14, hit("graph-capture", "end")),
    )

    assert seconds_of(startup) == {"graph-capture": 12.0}


def test_a_new_start_forgets_the_old_one() -> None:
    startup = feed(Startup(), (1, hit("load-weights")), (2, hit("ready")))
    startup.mark_start()
    startup.begin_again()

    assert (startup.starts, startup.is_ready, startup.stage) == (2, False, None)


def test_who_has_finished_dist_init_is_loading() -> None:
    startup = feed(Startup(), (1, hit("dist-init")), (2, hit("dist-init", "end")))

    assert startup.stage_of(None) is Stage.LOAD_WEIGHTS


def test_times_come_from_the_log_where_no_host_watched() -> None:
    startup = Startup()
    day = 1_767_225_600 * NS
    startup.feed(hit("load-weights"), Moment(None, day))
    startup.feed(hit("load-weights", "end", seconds="7.25"), Moment(None, day + 7 * NS))

    (span,) = startup.spans(use_host=False)
    assert (span.started_ns, span.clock, span.seconds) == (day, "log", 7.25)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("00:15", 15.0), ("1:02:03", 3723.0), ("12.5", 12.5), ("?", None), ("", None)],
)
def test_bar_clocks_are_read(text: str, seconds: float | None) -> None:
    assert parse_clock(text) == seconds


@pytest.mark.parametrize(
    ("done", "total", "elapsed_s", "remaining_s"),
    [
        (16, 64, 40.0, 120.0),
        (64, 64, 60.0, None),  # full: the stage may go on
        (63, 64, 0.5, None),  # mapped, not read
        (0, 64, 30.0, None),
        (1, 64, 30.0, None),
        (5, 64, None, None),
    ],
)
def test_a_bar_promises_only_what_it_can_keep(
    done: int, total: int, elapsed_s: float | None, remaining_s: float | None
) -> None:
    assert remaining_of_bar(done, total, elapsed_s) == remaining_s


def test_a_line_without_rank_counts_for_the_rank_whose_message_it_is_part_of() -> None:
    startup = Startup()
    startup.feed(hit("load-weights", rank="TP3"), at(1))
    startup.feed(hit("kv-cache", "progress"), at(2), rank="TP3")

    assert startup.stage_of("TP3") is Stage.KV_CACHE

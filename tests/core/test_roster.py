"""Ranks that the others wait for are named, from each rank's own lines alone."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from firedup.core.model import Line, Source, Stage
from firedup.core.rule import Edge, Hit, Role, Rule
from firedup.core.verdict.roster import MAX_RANKS, Missing, Roster, name_some

BEGIN = Rule("begin", "", "sglang", stage=Stage.LOAD_WEIGHTS, edge=Edge.BEGIN)
END = Rule("end", "", "sglang", stage=Stage.LOAD_WEIGHTS, edge=Edge.END)
GRAPHS = Rule("graphs", "", "sglang", stage=Stage.GRAPH_CAPTURE, edge=Edge.BEGIN)
BAR = Rule("bar", "", "sglang", stage=Stage.LOAD_WEIGHTS, edge=Edge.PROGRESS)
TIMED_OUT = Rule("timed-out", "", role=Role.CAUSE, awaits_ranks=True)
Step = tuple[str, Rule]


def muster(*steps: Step, expected: int = 0) -> Missing | None:
    roster = Roster()
    if expected:
        roster.expect(expected)
    for number, (rank, rule) in enumerate(steps, 1):
        text = f"{rank} {rule.id}"
        line = Line(number, number + 1, number, text, text, Source(rank))
        roster.feed(rank, line, (Hit(rule, line),))
    return roster.missing()


def each(rule: Rule, numbers: range) -> list[Step]:
    return [(f"TP{n}", rule) for n in numbers]


def test_the_one_rank_that_has_not_finished_is_named_with_its_last_line() -> None:
    missing = muster(*each(BEGIN, range(8)), *each(END, range(7)))

    assert missing is not None
    assert str(missing) == "7 of 8 ranks have finished load-weights; TP7 has not."
    assert [e.text for e in missing.evidence] == ["TP0 end", "TP7 begin"]


def test_a_rank_that_never_printed_is_missed_when_its_number_is_skipped() -> None:
    missing = muster(*((f"TP{n}", BEGIN) for n in (0, 1, 3)))

    assert missing is not None
    assert missing.ranks == ("TP2",)


def test_the_last_rank_is_missed_when_the_command_asks_for_it() -> None:
    missing = muster(*each(BEGIN, range(7)), expected=8)

    assert missing is not None
    assert missing.ranks == ("TP7",)


def test_what_only_the_first_rank_prints_makes_nobody_late() -> None:
    assert muster(*each(BEGIN, range(2)), ("TP0", END)) is None
    assert muster(*each(BEGIN, range(4)), ("TP0", END), ("TP0", GRAPHS)) is None


def test_a_rank_that_went_further_without_a_line_in_between_is_not_late() -> None:
    steps = [*each(BEGIN, range(4)), *each(END, range(3)), *each(GRAPHS, range(4))]

    assert muster(*steps) is None


def test_half_of_the_ranks_being_ahead_names_the_others_only_without_the_first() -> None:
    missing = muster(*each(BEGIN, range(2)), ("TP1", END))

    assert missing is not None
    assert missing.ranks == ("TP0",)


def test_who_does_not_complain_while_the_others_do_is_named() -> None:
    steps = [*each(BEGIN, range(4)), *((f"rank{n}", TIMED_OUT) for n in (0, 1, 3))]
    missing = muster(*steps)

    assert missing is not None
    assert (missing.ranks, missing.milestone) == (("TP2",), None)
    assert "3 of 4 ranks report" in str(missing)


def test_bars_are_no_milestones() -> None:
    assert muster(*each(BEGIN, range(3)), ("TP0", BAR), ("TP1", BAR)) is None


def test_a_lone_process_waits_for_nobody() -> None:
    assert muster(("TP0", BEGIN), ("TP0", END)) is None


def test_many_names_are_counted_after_the_first() -> None:
    assert name_some(("TP0",)) == "TP0"
    assert name_some(("TP0", "TP1", "TP2")) == "TP0, TP1 and TP2"
    assert name_some(tuple(f"TP{n}" for n in range(6))) == "TP0, TP1, TP2, TP3 and 2 more"


@given(
    st.lists(st.integers(0, 4), min_size=2, max_size=6),
    st.randoms(use_true_random=False),
)
def test_any_interleaving_that_keeps_each_ranks_order_names_the_same(
    reached: list[int], random: object
) -> None:
    way = [BEGIN, END, BEGIN, GRAPHS]
    lists = [[(f"TP{n}", rule) for rule in way[:count]] for n, count in enumerate(reached)]
    in_turn = [step for steps in lists for step in steps]
    queues, mixed = [list(steps) for steps in lists if steps], []
    while queues:
        queue = random.choice(queues)  # type: ignore[attr-defined]
        mixed.append(queue.pop(0))
        queues = [left for left in queues if left]
    one, other = muster(*in_turn), muster(*mixed)

    assert (one and (one.ranks, one.milestone)) == (other and (other.ranks, other.milestone))


def test_names_beyond_any_number_of_ranks_are_not_kept() -> None:
    missing = muster(*each(BEGIN, range(MAX_RANKS + 100)), *each(END, range(1, MAX_RANKS)))

    assert missing is not None
    assert (missing.ranks, missing.total) == (("TP0",), MAX_RANKS)

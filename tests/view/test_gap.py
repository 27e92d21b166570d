from dataclasses import replace

from firedup.core.model import RankState, Stage
from firedup.view.gap import Standing
from tests.view import story

APART = tuple(RankState(f"TP{n}", Stage.LOAD_WEIGHTS, n != 3) for n in range(4))
TOGETHER = tuple(RankState(f"TP{n}", Stage.LOAD_WEIGHTS, True) for n in range(4))
SAID = "3 of 4 ranks have loaded; TP3 not"


def moment(seconds, ranks):
    return replace(story.loading(seconds), ranks=ranks)


def test_ranks_that_meet_at_once_are_not_shown():
    standing = Standing()
    standing.feed(moment(100, APART), 0.0)

    assert standing.say(0.0) == ""
    standing.feed(moment(101, TOGETHER), 1.0)
    assert standing.say(1.0) == ""


def test_ranks_that_stand_apart_stay_to_be_read():
    standing = Standing()
    standing.feed(moment(100, APART), 0.0)
    standing.feed(moment(103, APART), 0.05)  # sixty times as fast as it happened

    assert standing.say(0.1) == SAID
    standing.feed(moment(104, TOGETHER), 0.07)
    assert standing.say(0.9) == SAID
    assert standing.say(1.1) == ""


def test_they_are_shown_as_long_as_it_lasts():
    standing = Standing()
    standing.feed(moment(100, APART), 0.0)
    standing.feed(moment(103, APART), 3.0)

    assert standing.say(300.0) == SAID


def test_an_old_gap_is_not_shown_for_a_new_one():
    standing = Standing()
    standing.feed(moment(100, APART), 0.0)
    standing.feed(moment(103, APART), 3.0)
    standing.feed(moment(104, TOGETHER), 4.0)
    standing.feed(moment(200, APART), 100.0)

    assert standing.say(100.0) == ""

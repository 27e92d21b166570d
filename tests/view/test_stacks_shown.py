"""Groups of equal stacks in a statement, in one line, and as JSON."""

from dataclasses import replace

from inline_snapshot import snapshot

from firedup.core.model import Stage, Verdict
from firedup.core.stack import Frame, StackGroup, StackMember, Stacks
from firedup.view.classic import Classic
from firedup.view.jsonl import JsonLines
from firedup.view.now import render_now
from firedup.view.pace import Pace
from firedup.view.paper import Paper
from firedup.view.plain import Plain
from firedup.view.record import record_explanation
from firedup.view.stack import render_groups, render_stacks, say_odd, say_stacks
from firedup.view.statement import render_statement
from tests.view import story
from tests.view.test_record import documented

REDUCE = Frame("all_reduce", "torch/distributed/distributed_c10d.py", 2936)
FORWARD = Frame("ModelRunner.forward", "sglang/srt/model_executor/model_runner.py", 1200)
READ = tuple(Frame(f"f{n}", "loader.py", n) for n in range(9))


def member(name, pid, *, state="S", by="py-spy"):
    return StackMember(name, pid, state, by, 12)


WAITING = StackGroup(
    tuple(member(f"TP{n}", 100 + n) for n in (0, 1, 3)),
    (REDUCE, FORWARD),
    is_rank=True,
    wait="collective",
    meaning="waits for the other ranks in a collective operation",
    waits_for_others=True,
    at=REDUCE,
)
ODD = StackGroup(
    (member("TP2", 102),), READ, 3, is_rank=True, is_odd=True, parts_at=FORWARD, parts_to=READ[0]
)
MAIN = StackGroup((member("python3", 99, state="D", by="kernel"),), why_not="ptrace is refused")
STACKS = Stacks(5, story.LAUNCHED_NS, (WAITING, ODD, MAIN), "/runs/x/stacks-20261129-120237.txt")


def stalled(stacks=STACKS):
    late = story.loading(400.0)
    explanation = replace(
        late.explanation, verdict=Verdict.STALLED, stage=Stage.GRAPH_CAPTURE, stacks=stacks
    )
    return replace(late, explanation=explanation, is_final=True)


def test_a_group_is_a_line_or_two_and_who_stands_apart_has_its_calls():
    _, title, *lines = render_stacks(STACKS, Paper(columns=80))

    assert title.startswith("stacks at ")
    assert "\n".join(lines) == snapshot("""\
  TP0 TP1 TP3 wait in all_reduce (torch/distributed/distributed_c10d.py:2936)
    each waits for the other ranks in a collective operation
  TP2 (odd one out) in f0 (loader.py:0)
      f1 (loader.py:1)
      f2 (loader.py:2)
      f3 (loader.py:3)
      f4 (loader.py:4)
      f5 (loader.py:5)
    parts from the others in ModelRunner.forward
    (sglang/srt/model_executor/model_runner.py:1200)
  python3 (pid 99) could not be looked into
  · ptrace is refused
  all of it: /runs/x/stacks-20261129-120237.txt\
""")


def test_narrow_paper_folds_what_it_has_to():
    lines = render_stacks(STACKS, Paper(columns=40))

    assert all(len(line) <= 40 or "/" in line for line in lines)


def test_one_line_says_who_stands_apart_first():
    assert say_stacks(STACKS) == snapshot(
        "TP2 (odd one out) in f0 (loader.py:0); "
        "TP0 TP1 TP3 wait in all_reduce (torch/distributed/distributed_c10d.py:2936)"
    )
    assert say_odd(STACKS) == snapshot("TP2 in f0 (loader.py:0)")
    assert say_stacks(Stacks(1, None, (MAIN,))) == ""


def test_a_stopped_rank_is_said_to_be_stopped():
    stopped = replace(ODD, wait="stopped", meaning="is stopped by a signal or a debugger")

    assert say_odd(Stacks(1, None, (WAITING, stopped))) == "TP2 is stopped by a signal"


def test_the_statement_of_a_stall_has_its_stacks():
    said = render_statement(stalled(), Paper(columns=100))

    assert "TP2 (odd one out)" in said
    assert "all of it: /runs/x/stacks-20261129-120237.txt" in said
    assert len(said.splitlines()) <= 40


def test_every_view_tells_of_stacks_once():
    plain, lines = Plain(Paper(columns=100)), JsonLines()
    before = replace(stalled(None), is_final=False)
    told = [*plain.feed(before), *plain.feed(stalled()), *plain.feed(stalled())]
    events = [*lines.feed(before), *lines.feed(stalled()), *lines.feed(stalled())]

    assert len([line for line in told if "stacks: TP2 (odd one out)" in line]) == 1
    assert len([line for line in events if '"event": "stacks"' in line]) == 1
    ending = Classic(zone=None).feed(stalled())
    assert ending[-1].startswith("STALLED at ")
    assert ending[:-1] == render_groups(STACKS)
    assert any("stacks" in line for line in render_now(stalled(), Paper(), pace=Pace()))


def test_the_record_has_every_group():
    record = record_explanation(stalled().explanation)["stacks"]

    assert record["path"] == STACKS.path
    assert [group["odd"] for group in record["groups"]] == [False, True, False]
    assert record["groups"][1]["hidden_frames"] == 3
    assert record["groups"][0]["ranks"] == ["TP0", "TP1", "TP3"]
    assert record_explanation(stalled(None).explanation)["stacks"] is None


def test_every_key_is_documented():
    record = record_explanation(stalled().explanation)["stacks"]

    assert set(record) == documented("stacks")
    assert set(record["groups"][0]) == documented("stack-group")

"""Equal stacks are gathered, and the rank that stands apart is found."""

from __future__ import annotations

import pytest

from firedup.core.stack import Frame, StackGroup, StackMember, Stacks
from firedup.core.verdict.stack import (
    MOST_FRAMES,
    ProcessStack,
    group_stacks,
    join_stacks,
    read_stack,
)
from firedup.profile.wait import find_wait

REDUCE = (
    "all_reduce (torch/distributed/distributed_c10d.py:2936)",
    "forward (model.py:40)",
    "main (server.py:9)",
)
READ = ("get_tensor (weights.py:7)", "load (model.py:12)", "main (server.py:8)")
LOOP = ("poll (server.py:31)", "main (server.py:30)")


def stack(
    name: str,
    frames: tuple[str, ...],
    *,
    state: str = "S",
    spins: bool = False,
    is_rank: bool = True,
) -> ProcessStack:
    thread = "active" if spins else "idle"
    text = f'Thread 1 ({thread}): "MainThread"\n' + "".join(f"    {f}\n" for f in frames)
    return read_stack(StackMember(name, 1, state, "py-spy"), text, is_rank=is_rank)


def names(group: StackGroup) -> str:
    return " ".join(member.name for member in group.members)


def seen(groups: tuple[StackGroup, ...]) -> list[tuple[str, bool]]:
    return [(names(group), group.is_odd) for group in groups]


def test_the_rank_that_is_not_in_the_collective_is_the_odd_one() -> None:
    stacks = [stack(f"TP{n}", REDUCE if n != 2 else READ) for n in range(11)]

    groups = group_stacks(stacks, find_wait)

    assert seen(groups) == [("TP0 TP1 TP3 TP4 TP5 TP6 TP7 TP8 TP9 TP10", False), ("TP2", True)]
    assert (groups[0].wait, groups[0].at) == (
        "collective",
        Frame("all_reduce", "torch/distributed/distributed_c10d.py", 2936),
    )


def test_where_an_odd_stack_parts_from_the_others_is_told() -> None:
    inner = ("item (model.py:77)", "forward (model.py:41)", "main (server.py:9)")
    groups = group_stacks(
        [stack("TP0", REDUCE), stack("TP1", REDUCE), stack("TP2", inner)], find_wait
    )

    assert groups[1].parts_at == Frame("forward", "model.py", 41)
    assert groups[1].parts_to == Frame("item", "model.py", 77)
    assert groups[0].parts_at is None


def test_one_of_two_that_does_not_wait_for_the_other_is_odd() -> None:
    groups = group_stacks([stack("TP0", REDUCE), stack("TP1", READ)], find_wait)

    assert seen(groups) == [("TP0", False), ("TP1", True)]


def test_most_ranks_are_odd_when_they_read_and_one_alone_waits_for_them() -> None:
    read = ("load_file (safetensors/torch.py:313)", "main (server.py:8)")
    groups = group_stacks(
        [stack("TP0", REDUCE), *(stack(f"TP{n}", read) for n in (1, 2))], find_wait
    )

    assert seen(groups) == [("TP1 TP2", True), ("TP0", False)]


def test_many_in_calls_that_nobody_knows_are_not_odd_beside_one_that_waits() -> None:
    unknown = ("forward (model.py:40)", "main (server.py:9)")
    groups = group_stacks(
        [stack("TP0", REDUCE), *(stack(f"TP{n}", unknown) for n in (1, 2, 3))], find_wait
    )

    assert seen(groups) == [("TP1 TP2 TP3", False), ("TP0", True)]


def test_two_unlike_stacks_alone_say_nothing_of_who_is_odd() -> None:
    groups = group_stacks([stack("TP0", READ), stack("TP1", LOOP)], find_wait)

    assert [group.is_odd for group in groups] == [False, False]


def test_a_stopped_rank_is_odd_wherever_the_others_are() -> None:
    groups = group_stacks(
        [stack("TP0", READ), stack("TP1", READ, state="T"), stack("TP2", READ)], find_wait
    )

    assert seen(groups) == [("TP0 TP2", False), ("TP1", True)]
    assert groups[1].meaning == "is stopped by a signal or a debugger"
    assert groups[1].parts_at is None  # it is where the others are


def test_lines_of_one_that_spins_are_noise_and_those_of_one_that_waits_are_not() -> None:
    spinning = [
        stack(f"TP{n}", (f"poll (server.py:{31 + n})", LOOP[1]), spins=True) for n in range(3)
    ]
    deeper = stack("TP3", ("step (server.py:50)", "poll (server.py:32)", LOOP[1]), spins=True)
    waiting = stack("TP4", ("poll (server.py:99)", LOOP[1]))

    groups = group_stacks([*spinning, deeper, waiting], find_wait)

    assert seen(groups) == [("TP0 TP1 TP2 TP3", False), ("TP4", True)]


def test_two_calls_of_one_function_from_different_lines_are_different_stacks() -> None:
    second = (REDUCE[0], "forward (model.py:55)", REDUCE[2])
    groups = group_stacks(
        [*(stack(f"TP{n}", REDUCE) for n in range(3)), stack("TP3", second)], find_wait
    )

    assert seen(groups) == [("TP0 TP1 TP2", False), ("TP3", True)]


def test_py_spy_and_faulthandler_show_the_same_stack() -> None:
    text = (
        "Current thread 0x1 (most recent call first):\n"
        '  File "/usr/lib/python3.11/threading.py", line 327 in wait\n'
        '  File "/srv/server.py", line 9 in main\n'
    )
    handled = read_stack(StackMember("TP1", 2, "S", "faulthandler"), text, is_rank=True)
    spied = stack("TP0", ("Condition.wait (threading.py:327)", "main (server.py:9)"))

    (group,) = group_stacks([spied, handled], find_wait)

    assert names(group) == "TP0 TP1"
    assert group.meaning == "waits for a lock or for another thread"


def test_what_the_kernel_does_is_told_of_one_that_nothing_can_wake() -> None:
    member = StackMember("TP0", 1, "D", "py-spy")
    text = 'Thread 1 (idle): "MainThread"\n    read (loader.py:3)\n'
    kernel = "thread 1 (python): state D, in rpc_wait_bit_killable\n"

    (group,) = group_stacks([read_stack(member, text, is_rank=True, kernel=kernel)], find_wait)

    assert group.wait == "network-disk"
    assert group.frames[0] == Frame("read", "loader.py", 3)


def test_what_the_kernel_does_stands_in_where_no_call_is_known() -> None:
    kernel = "thread 1 (python): state S, in hrtimer_nanosleep\n"
    text = 'Thread 1 (idle): "MainThread"\n    read (loader.py:3)\n'
    member = StackMember("TP0", 1, "S", "py-spy")

    (group,) = group_stacks([read_stack(member, text, is_rank=True, kernel=kernel)], find_wait)

    assert (group.meaning, group.at, group.frames[0].line) == ("sleeps", None, 3)


def test_a_process_without_any_stack_is_shown_with_the_reason() -> None:
    mute = read_stack(StackMember("TP0", 1), "", is_rank=True, why_not="ptrace is refused")

    (group,) = group_stacks([mute], find_wait)

    assert (group.frames, group.meaning, group.why_not) == ((), "", "ptrace is refused")


def test_other_processes_are_never_odd_and_come_last() -> None:
    main = stack("main", LOOP, is_rank=False)
    groups = group_stacks([main, stack("TP0", REDUCE), stack("TP1", READ)], find_wait)

    assert seen(groups) == [("TP0", False), ("TP1", True), ("main", False)]


@pytest.mark.parametrize("deep", [MOST_FRAMES, MOST_FRAMES + 3])
def test_a_deep_stack_is_cut_and_says_by_how_much(deep: int) -> None:
    (group,) = group_stacks(
        [stack("TP0", tuple(f"f{n} (a.py:{n})" for n in range(deep)))], find_wait
    )

    assert (len(group.frames), group.hidden) == (MOST_FRAMES, deep - MOST_FRAMES)


def test_stacks_of_several_nodes_are_compared_as_those_of_one_run() -> None:
    first = Stacks(1, None, group_stacks([stack(f"TP{n}", REDUCE) for n in (0, 1)], find_wait), "a")
    second = Stacks(2, None, group_stacks([stack("TP2", REDUCE), stack("TP3", READ)], find_wait))

    joined = join_stacks([("box1", first), ("box2", second)])

    assert joined is not None
    assert seen(joined.groups) == [("box1 TP0 box1 TP1 box2 TP2", False), ("box2 TP3", True)]
    assert (joined.at_ns, joined.path) == (1, "box1:a")


def test_nodes_without_stacks_have_none_together() -> None:
    assert join_stacks([("box1", None), ("box2", None)]) is None

"""The keeper counts stillness as the core does, and knows a token when the probe does."""

import json
from dataclasses import asdict
from typing import Any

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from firedup.core.event import Sample
from firedup.core.machine import Gpu
from firedup.core.measure.completion import parse_answer
from firedup.core.model import Process, Stage
from firedup.core.verdict.liveness import Liveness
from firedup.host.agent.ask import has_generated
from firedup.host.agent.still import Stillness
from firedup.session.recipe import LIMITS

NS = 1_000_000_000

processes = st.lists(
    st.tuples(
        st.integers(1, 3),  # pid
        st.integers(1, 2),  # start ticks
        st.sampled_from("RSTtZ"),
        st.sampled_from([0.0, 0.01, 0.02, 0.5]),  # CPU seconds more
        st.sampled_from([0, 4 << 20, 5 << 20]),  # bytes read more
        st.sampled_from([0, 15 << 20, 17 << 20, -(8 << 20)]),  # bytes grown
    ),
    max_size=3,
    unique_by=lambda row: row[:2],
)
steps = st.lists(
    st.tuples(
        st.sampled_from([0, 1, 5, 200, 700]), st.sampled_from([0, 0, 0, 100, -50]), processes
    ),
    min_size=1,
    max_size=12,
)


@given(steps)
def test_the_keeper_calls_a_stall_when_the_core_does(rows: list[Any]) -> None:
    at_s, log_size, sums = 1000, 500, {}  # type: ignore[var-annotated]
    core, keeper = Liveness(), Stillness(asdict(LIMITS))
    for more_s, more_log, tree in rows:
        at_s, log_size = at_s + more_s, max(0, log_size + more_log)
        found = []
        for pid, ticks, state, cpu_s, read, grown in tree:
            was = sums.get((pid, ticks), (0.0, 0, 1 << 30))
            now = (was[0] + cpu_s, was[1] + read, was[2] + grown)
            sums[(pid, ticks)] = now
            found.append(Process(pid, ticks, 0, "p", state, now[0], now[2], now[1]))
        sample = Sample(at_s * NS, 0, log_size, tuple(found))
        core.feed(sample)
        keeper.feed(msgspec.to_builtins(sample))

        # A keeper knows no stages: its patience is that of the most patient one.
        told = bool(core.stall(sample.at_ns, Stage.DIST_INIT))
        assert keeper.is_stalled(is_up=False) == told


def steady(state: str = "S", channel: str | None = None, cpu_s: float = 0.0) -> dict[str, Any]:
    """What a process does that gets nowhere."""
    does = {"state": state, "wait_channel": channel, "cpu_s": cpu_s, "read_bytes": 0}
    return {**does, "minor_faults": 0, "use": None, "filled": 0}


SPINNING, ASLEEP = steady("R", cpu_s=0.9), steady(cpu_s=0.01)
held_up = st.sampled_from(
    [SPINNING, SPINNING, ASLEEP, ASLEEP, steady("T"), steady("D"), steady(channel="pipe_write")]
)
busy = st.fixed_dictionaries(
    {
        "state": st.sampled_from("RSDTZ"),
        "wait_channel": st.sampled_from([None, "pipe_write", "futex_wait"]),
        "cpu_s": st.sampled_from([0.0, 0.01, 0.15, 0.9]),  # a second, as are all that follow
        "read_bytes": st.sampled_from([0, 1 << 20]),
        "minor_faults": st.sampled_from([0, 300]),
        "use": st.sampled_from([None, 0, 100]),
        "filled": st.sampled_from([0, 0, 32 << 20]),
    }
)
scenes = st.lists(
    st.tuples(
        st.sampled_from([1, 3, 12, 70, 700, 1900]),  # for so many seconds
        st.sampled_from([False, False, False, True]),  # whether the log grows
        st.one_of(st.tuples(*[held_up] * 4), st.tuples(*[st.one_of(held_up, busy)] * 4)),
    ),
    min_size=1,
    max_size=4,
)
TREES = st.sampled_from(
    [
        ("python3", "x::scheduler_TP0", "x::scheduler_TP1", "x::scheduler_TP2"),
        ("python3", "worker", "worker", "helper"),
        ("server", "a", "b", "c"),
    ]
)


@example(("a", "x_TP0", "x_TP1", "x_TP2"), [(700, False, (ASLEEP,) * 4)], True, False)
@example(("a", "x_TP0", "x_TP1", "x_TP2"), [(70, False, (ASLEEP,) * 4)] * 2, True, False)
@example(("a", "x_TP0", "x_TP1", "x_TP2"), [(1900, False, (SPINNING,) * 4)], True, False)
@example(
    ("a", "x_TP0", "x_TP1", "x_TP2"),
    [(700, False, (ASLEEP, SPINNING, SPINNING, ASLEEP))],
    *(False, False),
)
@given(TREES, scenes, st.booleans(), st.booleans())
def test_the_keeper_calls_a_stall_of_single_processes_when_the_core_does(
    names: tuple[str, ...], story: list[Any], has_users: bool, is_up: bool
) -> None:
    second, log_size = 1000, 9
    sums = [{"cpu_s": 0.0, "read_bytes": 0, "minor_faults": 0, "used": 1 << 30} for _ in names]
    core, keeper = Liveness(), Stillness(msgspec.to_builtins(LIMITS))
    for seconds, grows, doing in story:
        # Samples are a second apart at the ends of a long time, in which nothing is different.
        for step in [1] * min(seconds, 8) + [seconds - 8] * (seconds > 8) + [1] * (seconds > 8):
            second, log_size = second + step, log_size + grows
            for total, does in zip(sums, doing, strict=True):
                for what in ("cpu_s", "read_bytes", "minor_faults"):
                    total[what] += does[what] * step
                total["used"] += does["filled"]
            tree = tuple(
                Process(
                    *(10 + n, 1, 10 if n else 1, name[:15], does["state"]),
                    *(total["cpu_s"], 80 << 20, int(total["read_bytes"])),
                    wait_channel=does["wait_channel"],
                    minor_faults=int(total["minor_faults"]),
                    threads=4,
                    title=name,
                )
                for n, (name, total, does) in enumerate(zip(names, sums, doing, strict=True))
            )
            gpus = tuple(
                Gpu(n, int(t["used"]), 1 << 40, d["use"], ((10 + n, 5),) if has_users else ())
                for n, (t, d) in enumerate(zip(sums, doing, strict=True))
            )
            sample = Sample(second * NS, 0, log_size, tree, gpus=gpus)
            core.feed(sample)
            keeper.feed(json.loads(msgspec.json.encode(sample)))

            told = core.find_stall(sample.at_ns, Stage.DIST_INIT, is_up=is_up) is not None
            assert keeper.is_stalled(is_up=is_up) == told


BODIES = [
    b"",
    b"no json",
    b"[]",
    b"[1]",
    b"{}",
    b"\xff",
    b'{"text": "red", "meta_info": {"completion_tokens": 1}}',
    b'[{"text": "red", "meta_info": {"completion_tokens": 1}}]',
    b'{"text": "", "meta_info": {"completion_tokens": 0}}',
    b'{"text": "", "meta_info": {"completion_tokens": 1}}',
    b'{"text": ""}',
    b'{"text": "x"}',
    b'{"choices": []}',
    b'{"choices": [7]}',
    b'{"choices": [{"text": "x"}]}',
    b'{"choices": [{"text": ""}], "usage": {"completion_tokens": 1}}',
    b'{"choices": [{"text": "x"}], "usage": {"completion_tokens": 0}}',
    b'{"choices": [{"text": "x"}], "usage": {"completion_tokens": true}}',
    b'{"choices": [{"message": {"content": "x"}}]}',
    b'{"choices": [{"message": {"content": null, "reasoning_content": "x"}}]}',
    b'{"choices": [{"message": {"content": null, "reasoning": "x"}}], "usage": null}',
    b'{"choices": [{"message": {}}]}',
    b'{"choices": [{"message": 5}], "usage": {"completion_tokens": 3}}',
]


@pytest.mark.parametrize("body", BODIES)
def test_the_keeper_takes_for_a_token_what_the_probe_does(body: bytes) -> None:
    answer = parse_answer(body)
    is_proof = answer is not None and not (
        answer.tokens == 0 or (answer.tokens is None and not answer.text)
    )

    assert has_generated(body) == is_proof


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: (
            st.lists(inner, max_size=2)
            | st.dictionaries(
                st.sampled_from(
                    ["choices", "text", "message", "content", "usage", "completion_tokens"]
                ),
                inner,
            )
        ),
    )
)
def test_no_answer_confuses_the_keeper(value: Any) -> None:
    assert has_generated(json.dumps(value).encode()) in (True, False)

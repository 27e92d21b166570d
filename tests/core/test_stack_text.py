"""Texts of stacks, as py-spy, faulthandler and the agent write them, become threads and frames."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from firedup.core.stack import Frame
from firedup.core.verdict.stacktext import main_thread, parse_stack

SPIED = """\
Process 7108: python server.py x
Python v3.11.7 (/usr/bin/python3.11)

Thread 7110 (idle): "loader"
    Condition.wait (threading.py:327)
    Queue.get (queue.py:171)
    Thread.run (threading.py:982)
Thread 7108 (idle): "MainThread"
    0x7f0b2e4a3f16 (libc.so.6)
    PyThread_acquire_lock_timed (libpython3.11.so.1.0)
    Condition.wait (threading.py:327)
        Arguments:
            self: <Condition at 0x7f0b2e223bd0>
        Locals:
            gotit: False
    Rank.all_reduce (server.py:15)
    <module> (server.py:16)
Thread 7111 (active+gil): "spin [x] (y)"
    spin (server.py:8)
"""
FAULT = """\
Timeout (0:00:01)!
Thread 0x00007f51f5a6e6c0 [loader] (most recent call first):
  File "/usr/lib/python3.14/threading.py", line 327 in wait
  File "/srv/app/server.py", line 5 in worker

Current thread 0x00007f51f65beb80 (most recent call first):
  File "/opt/venv/lib/python3.14/site-packages/torch/distributed/distributed_c10d.py", line 2936 in all_reduce
  File "/srv/app/server.py", line ??? in <module>

Extension modules: numpy._core, torch._C (total: 2)
Current thread's C stack trace (most recent call first):
  Binary file "/usr/lib/libpython3.14.so.1.0", at _Py_DumpStack+0x48 [0x7f51f6a5]
"""  # noqa: E501 - as it is printed
TASKS = """\
threads 12 13 and 3 more (python3): state S, in futex_do_wait, system call 202
[<0>] futex_do_wait+0x46/0x90
[<0>] do_syscall_64+0x71/0x290
thread 14 (pt_main_thread): state T, in do_signal_stop
"""


def test_a_spied_process_has_its_threads_with_calls_innermost_first() -> None:
    threads = parse_stack(SPIED)

    assert [(t.name, t.ident, t.is_active) for t in threads] == [
        ("loader", "7110", False),
        ("MainThread", "7108", False),
        ("spin [x] (y)", "7111", True),
    ]
    assert [str(frame) for frame in threads[1].frames] == [
        "PyThread_acquire_lock_timed (libpython3.11.so.1.0)",
        "Condition.wait (threading.py:327)",
        "Rank.all_reduce (server.py:15)",
        "<module> (server.py:16)",
    ]
    assert main_thread(threads) == threads[1]


def test_a_main_thread_that_was_renamed_is_known_by_its_number() -> None:
    threads = parse_stack(SPIED.replace("MainThread", "scheduler"))

    assert [thread.is_main for thread in threads] == [False, True, False]


def test_the_last_thread_of_faulthandler_is_the_main_one() -> None:
    threads = parse_stack(FAULT)

    assert [(t.name, t.is_main) for t in threads] == [("loader", False), ("", True)]
    assert threads[1].frames == (
        Frame("all_reduce", "torch/distributed/distributed_c10d.py", 2936),
        Frame("<module>", "/srv/app/server.py"),
    )
    assert threads[0].frames[0] == Frame("wait", "threading.py", 327)


def test_threads_that_the_kernel_tells_have_its_functions_or_their_channel() -> None:
    threads = parse_stack(TASKS)

    assert [(t.ident, [f.function for f in t.frames]) for t in threads] == [
        ("12", ["futex_do_wait", "do_syscall_64"]),
        ("14", ["do_signal_stop"]),
    ]


def test_the_bare_stack_of_one_thread_is_read_too() -> None:
    (thread,) = parse_stack("[<0>] rpc_wait_bit_killable+0x11/0x70 [sunrpc]\n[<0>] ksys_read+0x6\n")

    assert [frame.function for frame in thread.frames] == ["rpc_wait_bit_killable", "ksys_read"]


@given(st.sampled_from([SPIED, FAULT, TASKS]), st.data())
def test_any_slice_of_a_text_is_read_without_an_error(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))

    whole = {frame.function for thread in parse_stack(text) for frame in thread.frames}
    found = parse_stack(text[start:end])

    cut = {frame.function for thread in found for frame in thread.frames} - whole
    assert all(any(name.startswith(part) or part == "" for name in whole) for part in cut)


@given(st.text() | st.text(alphabet='Thread 0x1f()[]:"\n File, line in most recent call first'))
def test_no_text_is_an_error(text: str) -> None:
    for thread in parse_stack(text):
        assert all(frame.function for frame in thread.frames)

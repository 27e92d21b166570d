"""What counts as a hook that failed, of all that stands in a hooks.log."""

from __future__ import annotations

import pytest

from firedup.session.hookfailure import read_hook_failures

AT = "2026-11-29T18:23:00Z"


@pytest.mark.parametrize(
    "told",
    [
        "command 1 of --on crashed ended with status 3",
        "command 2 of --on ready was ended by signal 9",
        "--notify https://chat.example.org of crashed: answered 503 (try 3 of 3)",
        "--notify https://chat.example.org of crashed: answered 404 (try 1 of 3)",
        "--notify https://chat.example.org of ready: Connection refused (try 1 of 1)",
        "--notify: no such address",
    ],
)
def test_a_failure_is_told_with_its_time(told: str) -> None:
    assert read_hook_failures(f"hello\n{AT} firedup: {told}\n".encode()) == (f"{told} ({AT})",)


@pytest.mark.parametrize(
    "told",
    [
        "--notify https://chat.example.org of crashed: answered 503 (try 1 of 3)",
        "--notify https://chat.example.org of crashed: answered 429 (try 2 of 3)",
        "--notify https://chat.example.org of ready: no answer within 10 s (try 1 of 3)",
        "a ready pattern is passed over: x",
        # Its end with status 126 is told besides.
        "a command could not be run: [Errno 2] No such file or directory: '/gone'",
    ],
)
def test_what_is_tried_again_or_is_no_hook_is_no_failure(told: str) -> None:
    assert read_hook_failures(f"{AT} firedup: {told}\n".encode()) == ()


def test_what_a_command_prints_is_no_failure() -> None:
    text = b"command 1 of --on ready ended with status 3\n\xff\nfiredup: --notify x\n"

    assert read_hook_failures(text) == ()

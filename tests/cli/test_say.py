"""What stop and restart say goes to the terminal without secrets and control sequences."""

from __future__ import annotations

import pytest
from typist import Shell

from firedup.cli.say import say, say_aside


@pytest.mark.parametrize("printed", [say, say_aside])
def test_what_a_process_calls_itself_reaches_no_terminal_as_it_is(
    printed: object, capsys: pytest.CaptureFixture[str]
) -> None:
    assert callable(printed)
    command = f"\x1b]0;owned\x07\x1b[2Jpython -m worker {'x' * 300} --api-key rosebud"
    printed(f"sweeping pid 7 ({command}), left behind by the server")

    said = "".join(capsys.readouterr())
    assert said.startswith("sweeping pid 7 (python -m worker")
    assert said.endswith("left behind by the server\n")
    assert "rosebud" not in said
    assert "\x1b" not in said
    assert len(said) < 300


def test_a_key_that_the_cut_would_halve_is_not_shown_in_half(
    capsys: pytest.CaptureFixture[str],
) -> None:
    say(f"{'x' * 180} hf_{'Zq8' * 40}")

    assert "hf_" not in capsys.readouterr().out


def test_a_restart_tells_of_another_key_and_shows_neither(shell: Shell) -> None:
    server = shell.make_server()
    ready = ("--timeout", "60s")
    shell.run("run", "--name", "k", *ready, "--", "LLAMA_API_KEY=rosebud", *server)

    again = shell.run("restart", "k", *ready, "--", "LLAMA_API_KEY=sled1", "--api-key", "sled2")

    assert again.status == 0, again.err
    assert "LLAMA_API_KEY changed\n" in again.err
    assert "--api-key not given → given\n" in again.err
    assert not any(word in again.out + again.err for word in ("rosebud", "sled"))

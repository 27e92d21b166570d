"""Every command explains itself with an example, and wrong use gets one message and status 2."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from firedup.cli import main
from firedup.cli.group import commands


def list_paths() -> Iterator[tuple[str, ...]]:
    """All commands and those below them, as the words that call them."""
    context = click.Context(commands)
    for name in commands.list_commands(context):
        yield (name,)
        found = commands.get_command(context, name)
        if isinstance(found, click.Group):
            yield from ((name, below) for below in found.list_commands(click.Context(found)))


PATHS = list(list_paths())


@pytest.mark.parametrize("path", PATHS, ids=" ".join)
def test_help_ends_with_an_example_of_the_command(
    path: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*path, "--help"]) == 0

    lines = capsys.readouterr().out.splitlines()
    example = lines[lines.index("Example:") + 1 :]
    assert example
    assert all(line.startswith("  ") for line in example)
    assert any(f"firedup {' '.join(path)}" in line for line in example)


@pytest.mark.parametrize("path", PATHS, ids=" ".join)
def test_an_unknown_option_is_wrong_use(
    path: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*path, "--no-such-option"]) == 2

    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"firedup: {' '.join(path)}: ")
    assert "--no-such-option" in err
    assert err.endswith(f"\nTry: firedup {' '.join(path)} --help\n")
    assert err.count("\n") == 2


@pytest.mark.parametrize(
    ("words", "advice"),
    [
        ("expalin x.log", "Did you mean 'explain'?"),
        ("wacth x.log", "Did you mean 'watch'?"),
        ("profile chek", "Did you mean 'check'?"),
        ("explain --jsno x.log", "--json"),
        ("watch --tiemout 3m x.log", "--timeout"),
        ("zzz", "There are: run, watch,"),
        ("explain", "LOG"),
        ("profile", "Missing command"),
        ("watch --timeout soon x.log", "such as 90s, 30m, 1h30m or 2d, or never"),
        ("watch --ready-pattern [ x.log", "no regular expression"),
        ("watch --format fancy x.log", "classic"),
        ("watch --width 3 x.log", "20"),
        ("run --env 1A=2 -- true", "such as CUDA_VISIBLE_DEVICES=0,1"),
        ("run --on lunch true -- true", "crashed"),
        ("run --env-file", "--env-file"),
        ("stop", "RUN"),
        ("prune --older-than yesterday", "30m"),
    ],
)
def test_wrong_use_is_told_with_advice(
    words: str, advice: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words.split()) == 2

    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("firedup: ")
    assert advice in err


def test_a_log_without_a_command_is_led_to_explain(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "server.log"
    log.write_text("")

    assert main([str(log)]) == 2
    assert f"firedup explain {log}" in capsys.readouterr().err


def test_words_of_the_user_cannot_write_to_the_terminal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["\x1b[31mred\x07"]) == 2
    assert main(["explain", "--\x1b[31m"]) == 2
    assert "\x1b" not in capsys.readouterr().err

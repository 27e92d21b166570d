"""`firedup speedup`: figures in, what they mean out."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from typist import Shell

from firedup.cli.figure import Figure
from firedup.cli.speedup import command
from firedup.core.measure.speedup import LENGTHS, SPEEDS

FIGURES = ("speedup", "--baseline", "82", "--speed", "52", "--accept", "1.5")
PAGE = Path(__file__).parents[2] / "docs" / "reference" / "json.md"


def test_a_loss_is_called_one_and_explained(shell: Shell) -> None:
    done = shell.run(*FIGURES, "--what-if", "accept=3.2")

    assert done.status == 0
    assert "0.63x: 37 % slower, a loss." in done.out
    assert "pays from an acceptance length of 2.37 on" in done.out
    assert re.search(r"accept=3.2 +111 tok/s +1.35x, 35 % faster", done.out)
    assert "gain" not in done.out


def test_programs_get_the_keys_that_are_documented(shell: Shell) -> None:
    done = shell.run(*FIGURES, "--what-if", "step=20ms", "--json")
    result = json.loads(done.out)
    table = PAGE.read_text().split("<!-- keys: speedup -->\n", 1)[1].split("\n\n", 1)[0]
    documented = {
        key for row in table.splitlines()[2:] for key in re.findall(r"`(\w+)`", row.split("|")[1])
    }

    assert set(result) == documented
    assert round(result["step_ratio"], 2) == 2.37
    assert result["what_if"][0]["assumed"] == "step=20ms"


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (("--baseline", "82", "--speed", "52"), "two of speed, acceptance length and step time"),
        ((*FIGURES[1:], "--what-if", "luck=2"), "'luck=2' is no assumption"),
        ((*FIGURES[1:], "--draft-tokens", "3", "--what-if", "accept=9"), "4 at most"),
        (("--baseline", "0", "--speed", "52", "--accept", "2"), "0 is not between 0.001 and"),
        (("--baseline", "inf", "--speed", "52", "--accept", "2"), "inf is not between 0.001"),
        (("--baseline", "nan", "--speed", "52", "--accept", "2"), "nan is not between 0.001"),
        (("--baseline", "82", "--speed", "1e9", "--accept", "2"), "1e9 is not between 0.001"),
        (("--baseline", "82", "--speed", "52", "--accept", "x"), "'x' is no number"),
        (("--baseline", "82", "--speed", "52", "--accept", "0.5"), "0.5 is not between 1 and"),
        (("--baseline", "82", "--speed", "52", "--step", "inf"), "'inf' is no time of a step"),
        (("--baseline", "82", "--speed", "52", "--step", "0ms"), "between 0.001 ms and 10000 s"),
        (("--baseline", "82", "--speed", "1e6", "--step", "99s"), "no step gives 99000000 tokens"),
        ((*FIGURES[1:], "--what-if", "step=0"), "between 0.001 ms and 10000 s"),
        ((*FIGURES[1:], "--what-if", "speed=0"), "0 is not between 0.001 and"),
    ],
)
def test_figures_that_cannot_be_are_refused(
    shell: Shell, more: tuple[str, ...], words: str
) -> None:
    done = shell.run("speedup", *more)

    assert done.status == 2
    assert words in done.err
    assert "Traceback" not in done.err


@pytest.mark.parametrize("step", ["28.8", "28.8ms", "28.8 ms", "0.0288s"])
def test_the_time_of_a_step_has_its_unit_in_both_places(shell: Shell, step: str) -> None:
    words = ("speedup", "--baseline", "82", "--speed", "52", "--step", step)
    done = shell.run(*words, "--what-if", f"step={step}", "--json")
    result = json.loads(done.out)

    assert round(result["step_s"], 5) == 0.0288
    assert round(result["what_if"][0]["step_s"], 5) == 0.0288


def test_the_limits_of_the_options_are_those_of_the_arithmetic() -> None:
    limits = {one.name: one.type.limits for one in command.params if isinstance(one.type, Figure)}

    assert limits == {"baseline": SPEEDS, "speed": SPEEDS, "accept": LENGTHS}


def test_figures_that_do_not_belong_together_are_told_so(shell: Shell) -> None:
    words = ("speedup", "--baseline", "82", "--speed", "200", "--accept", "1.5")
    done, told = shell.run(*words), json.loads(shell.run(*words, "--json").out)

    assert "do not belong together" in done.out
    assert "(7.5 ms) cheaper than a plain one (12.2 ms)" in done.out
    assert "pays from" not in done.out
    assert "do not belong together" in told["doubt"]

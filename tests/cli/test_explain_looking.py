"""How much of a log `firedup explain` shows around its cause is for the user to say."""

from __future__ import annotations

from pathlib import Path

import pytest
from typist import Shell

LOG = (
    "one\ntwo\nthree\nTraceback (most recent call last):\n"
    '  File "serve.py", line 7, in load\nRuntimeError: too much\nfour\nfive\n'
)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "s.log"
    path.write_text(LOG)
    return path


def test_two_lines_stand_on_each_side_of_the_cause(log: Path, shell: Shell) -> None:
    out = shell.run("explain", str(log)).out

    assert '  │   File "serve.py", line 7, in load\n  ▸ RuntimeError: too much\n  │ four\n' in out
    assert "three" not in out


def test_context_and_tail_are_chosen(log: Path, shell: Shell) -> None:
    out = shell.run("explain", "--context", "0", "--tail", "1", str(log)).out

    assert "  │ RuntimeError: too much\n" in out
    assert "four" not in out
    assert "the log's last lines\n  five" in out


def test_all_leaves_nothing_out(tmp_path: Path, shell: Shell) -> None:
    log = tmp_path / "s.log"
    more = "".join(LOG.replace("too much", f"other {chr(97 + n)}") for n in range(9))
    log.write_text(LOG + more)

    assert "and 4 more" in shell.run("explain", str(log)).out
    everything = shell.run("explain", "--all", str(log)).out
    assert "more" not in everything
    assert everything.count("RuntimeError: other") == 9

"""`firedup probe`, `compare`, `run --then probe`: what is refused before it is measured."""

from __future__ import annotations

import os

import pytest
from typist import Shell

from firedup.core.measured import Arm, Cell, Conditions, Load, Request
from firedup.store.probe import StoredProbe, probes_folder, save_probe

RUN = ("run", "--then", "probe")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("probe", "127.0.0.1:9"), "nobody answers at http://127.0.0.1:9"),
        (("probe", "nobody"), "there is no run nobody"),
        (("probe", "127.0.0.1:9", "--concurrency", "1,x"), "is no list of numbers"),
        (("probe", "127.0.0.1:9", "--concurrency", "8²"), "is no list of numbers"),
        (("probe", "127.0.0.1:9", "--concurrency", "1", "--rate", "2"), "in two ways"),
        (("probe", "127.0.0.1:9", "--category", "poems"), "poems"),
        (("probe", "127.0.0.1:9", "--api-key-env", "NO_SUCH"), "no variable NO_SUCH"),
        (("probe", "http://me:secret@127.0.0.1:9"), "holds a name or a password"),
        (("compare", "one", "two"), "no measurement of 'one' is kept"),
        ((*RUN, "--no-wait", "--", "x"), "waits until the server is ready"),
        ((*RUN, "--baseline", "plain", "--", "x"), "no measurement of 'plain' is kept"),
        ((*RUN, "--concurrency", "0", "--", "x"), "is no list of numbers"),
        (("run", "--baseline", "plain", "--", "x"), "Add --then probe."),
    ],
)
def test_what_cannot_be_measured_is_said_at_once(
    shell: Shell, words: tuple[str, ...], message: str
) -> None:
    done = shell.run(*words)

    assert done.status == 2
    assert message in done.err
    assert "secret" not in done.err
    assert "Traceback" not in done.err


def test_what_was_measured_is_shown_though_the_csv_file_cannot_be_written(shell: Shell) -> None:
    requests = tuple(
        Request(f"code-{number}", "code", 0, 50_000_000, 150_000_000, tokens=11, events=11)
        for number in range(8)
    )
    folder = probes_folder(os.environ)
    for name in ("plain", "drafted"):
        arm = Arm(name, Conditions(), (Cell(Load(1), requests),), 0)
        save_probe(folder, StoredProbe(f"20261130-000000-{name}", arm, "u", name=name))

    done = shell.run("compare", "plain", "drafted", "--csv", "no-such-folder/all.csv")

    assert done.status == 2
    assert "one stream" in done.out
    assert "no-such-folder/all.csv cannot be written" in done.err


def test_a_run_that_is_measured_once_it_is_ready_is_measured_as_by_default(shell: Shell) -> None:
    words = ("--name", "plain", "--concurrency", "8")
    done = shell.run(*RUN, *words, "--", *shell.make_server())

    assert (done.status, done.err) == (0, "")
    assert "8 streams at a time" in done.out
    assert "kept as" in done.out

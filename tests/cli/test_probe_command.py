"""`firedup probe`, `compare`, `run --then probe`: what is refused before it is measured."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest
from typist import Shell

from firedup.core.measure.measured import Arm, Cell, Conditions, Load, Request
from firedup.store.probe import StoredProbe, probes_folder, save_probe

RUN = ("run", "--then", "probe")
PAGE = Path(__file__).parents[2] / "docs" / "reference" / "json.md"


def keys_of(name: str) -> set[str]:
    """The keys in the first column of the table behind a `keys:` mark."""
    table = PAGE.read_text().split(f"<!-- keys: {name} -->\n", 1)[1].split("\n\n", 1)[0]
    return {
        key for row in table.splitlines()[2:] for key in re.findall(r"`(\w+)`", row.split("|")[1])
    }


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("probe", "nobody"), "there is no run nobody"),
        (("probe", "127.0.0.1:9", "--concurrency", "1,x"), "is no list of numbers"),
        (("probe", "127.0.0.1:9", "--concurrency", "8²"), "is no list of numbers"),
        (("probe", "127.0.0.1:9", "--concurrency", "1", "--rate", "2"), "in two ways"),
        (("probe", "127.0.0.1:9", "--category", "poems"), "poems"),
        (("probe", "127.0.0.1:9", "--api-key-env", "NO_SUCH"), "no variable NO_SUCH"),
        (("probe", "http://me:secret@127.0.0.1:9"), "holds a name or a password"),
        (("compare", "one", "two"), "no measurement of 'one' is kept"),
        (("probe", "127.0.0.1:9", "--rate", "nan"), "nan is not between 0.001 and"),
        (("probe", "127.0.0.1:9", "--rate", "inf"), "inf is not between 0.001 and"),
        (("probe", "127.0.0.1:9", "--budget", "0"), "is too short"),
        (("probe", "127.0.0.1:9", "--concurrency", "100000"), "4096 at a time at most"),
        (("probe", "127.0.0.1:9", "--concurrency", "64", "--requests", "7"), "are too few for 64"),
        (("probe", "127.0.0.1:9", "--cacert", "no-such.pem"), "no-such.pem cannot be used"),
        (("probe",), "one of URL, RUN, LOG and --list is wanted"),
        (("compare", "one"), "two measurements are wanted"),
        (("compare", "one", "two", "--validation-accuracy", "nan"), "nan is not between 0 and 1"),
        ((*RUN, "--concurrency", "8", "--requests", "99", "--max-tokens", "7", "--", "x"), "7 is"),
        ((*RUN, "--concurrency", "200", "--", "x"), "this takes 200 different prompts"),
        (("run", "--requests", "7", "--", "x"), "Add --then probe."),
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


def keep(name: str, number: int, **conditions: object) -> str:
    """Keep a measurement of a run of that name; its id."""
    requests = tuple(
        Request(f"code-{number}", "code", 0, 50_000_000, 150_000_000, tokens=11, events=11)
        for number in range(8)
    )
    arm = Arm(name, Conditions(**conditions), (Cell(Load(1), requests),), 0)  # type: ignore[arg-type]  # of several types
    probe_id = f"20261130-00000{number}-{name}"
    save_probe(probes_folder(os.environ), StoredProbe(probe_id, arm, "u", name=name))
    return probe_id


def test_what_was_measured_is_shown_though_the_csv_file_cannot_be_written(shell: Shell) -> None:
    keep("plain", 1)
    keep("drafted", 2)

    done = shell.run("compare", "plain", "drafted", "--csv", "no-such-folder/all.csv")

    assert done.status == 2
    assert "one stream" in done.out
    assert "no-such-folder/all.csv cannot be written" in done.err


def test_measurements_that_are_kept_are_listed_the_newest_first(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    ids = [keep("plain", 1, max_tokens=48), keep("drafted", 2, max_tokens=64)]
    (probes_folder(os.environ) / "other.json").write_text("{}")

    done, again = shell.run("probe", "--list"), shell.run("compare", "--json")
    listed = json.loads(again.out)["measurements"]

    assert done.status == again.status == 0
    rows = done.out.splitlines()
    assert rows[0].split()[:3] == ["id", "server", "age"]
    assert rows[1].split()[:2] == [ids[1], "drafted"]
    assert rows[2].split()[-5:] == ["1", "8", "48", "-", "100.0"]
    assert "holds no measurement" in done.err
    assert [one["id"] for one in listed] == ids[::-1]
    assert listed[0]["loads"][0]["tokens_per_s"] == pytest.approx(100)
    assert set(listed[0]) == keys_of("kept")
    assert set(listed[0]["loads"][0]) == keys_of("kept-load")


def test_a_list_fits_on_a_narrow_terminal(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    keep("plain", 1, max_tokens=48)

    done = shell.run("probe", "--list")

    assert max(map(len, done.out.splitlines())) <= 40
    assert "max tokens 48" in " ".join(done.out.split())


def test_a_server_that_is_not_there_is_not_reached(shell: Shell) -> None:
    done = shell.run("probe", "127.0.0.1:9")

    assert done.status == 3
    assert "nobody answers at http://127.0.0.1:9" in done.err


def test_one_measurement_is_not_compared_with_itself(shell: Shell) -> None:
    one = keep("plain", 1)

    done = shell.run("compare", "plain", one)

    assert done.status == 2
    assert "one and the same measurement" in done.err


def test_what_is_not_comparable_is_told_with_the_option_and_with_one_that_fits(
    shell: Shell,
) -> None:
    fits = keep("drafted", 1, max_tokens=48)
    keep("drafted", 2, max_tokens=64)
    plain = keep("plain", 3, max_tokens=48)
    keep("other", 4, max_tokens=64)

    kept, none = shell.run("compare", "plain", "drafted"), shell.run("compare", "plain", "other")

    assert kept.status == none.status == 1
    assert f"firedup compare {plain} {fits}" in kept.err
    assert "--max-tokens 48" in none.err


def test_a_run_that_is_measured_once_it_is_ready_is_measured_as_by_default(shell: Shell) -> None:
    words = ("--name", "plain", "--concurrency", "8")
    done = shell.run(*RUN, *words, "--", *shell.make_server())

    assert (done.status, done.err) == (0, "")
    assert "8 streams at a time" in done.out
    assert "kept as" in done.out

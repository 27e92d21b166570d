"""`firedup host`, and the launches that use what it remembers."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest
from typist import Shell

from firedup.store.index import IndexedRun, index_path, open_index
from tests.ssh_server import Boxes, SshBox

pytestmark = pytest.mark.timeout(180)


@pytest.fixture
def box(ssh_boxes: Boxes) -> SshBox:
    return ssh_boxes("box")


def put_program(folder: Path, name: str, text: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{text}\n")
    (folder / name).chmod(0o755)


def documented_keys(name: str) -> set[str]:
    page = (Path(__file__).parents[2] / "docs" / "reference" / "json.md").read_text()
    table = page.split(f"<!-- keys: {name} -->\n", 1)[1].split("\n\n", 1)[0]
    return {
        key for row in table.splitlines()[2:] for key in re.findall(r"`(\w+)`", row.split("|")[1])
    }


def test_a_host_is_looked_at_after_its_setup(
    shell: Shell, box: SshBox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    put_program(box.home / "venv", "vllm", "exit 1")
    put_program(box.folder / "bin", "nvidia-smi", "echo 'NVIDIA H200, 143771 MiB'\n" * 2)
    (box.home / "tokens.env").write_text("HF_TOKEN=hf_secretsecretsecret\n")
    told = shell.run(
        *("host", "box", "--setup", 'echo noise; PATH="$HOME/venv:$PATH"; cat'),
        *("--env-file", "~/tokens.env"),
    )
    assert told.status == 0
    assert "Check it: firedup host box" in told.out

    seen = shell.run("host", "box")
    assert (seen.status, seen.err) == (0, "")
    assert seen.out.startswith("✓ box reached in ")
    assert "@127.0.0.1 port " in seen.out
    assert f"vllm ({box.home}/venv/vllm)" in seen.out
    assert "2 × NVIDIA H200, 143771 MiB" in seen.out
    assert "env-file  ~/tokens.env" in seen.out
    record = json.loads(shell.run("host", "box", "--json").out)
    assert record["home"] == str(box.home)
    assert record["runs_folder"].startswith(str(box.state))
    assert record["problems"] == []
    assert record["remembered"]["env_file"] == "~/tokens.env"
    assert "secret" not in seen.out + json.dumps(record)
    assert set(record) == documented_keys("host")


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("--setup", "source ~/gone"), "the setup ends with status 1"),
        (("--setup", "exit 7"), "the setup ended the shell, status 7"),
        (("--setup", "if"), "the setup ended the shell, status"),
        (("--cwd", "~/gone"), "/home/gone does not exist"),
        (("--env-file", "gone.env"), "gone.env cannot be read: No such file"),
    ],
)
def test_what_does_not_hold_there_is_said(
    words: tuple[str, str], problem: str, shell: Shell, box: SshBox
) -> None:
    shell.run("host", "box", *words)

    record = shell.run("host", "box", "--json")

    assert record.status == 1
    (said,) = json.loads(record.out)["problems"]
    assert problem in said


def test_a_launch_takes_what_is_remembered_and_says_so(shell: Shell, box: SshBox) -> None:
    (box.home / "work").mkdir()
    shell.run("host", "box", "--setup", "export A=set", "--cwd", "work", "--login")
    run = ("run", "--host", "box", "--until", "exit", "--timeout", "20s")
    show = ("--", "sh", "-c", 'echo "$A $B"; pwd')

    first = shell.run(*run, "--name", "first", *show)
    second = shell.run(
        *run, "--name", "second", "--setup", "", "--no-login", "--cwd", "~", "--env", "B=two", *show
    )

    said = "remembered of box: --setup 'export A=set' --login --cwd work\n"
    assert first.err == said
    assert second.err == ""
    logs = [shell.run("logs", "--host", "box", name).out for name in ("first", "second")]
    assert logs == [f"set \n{box.home}/work\n", f" two\n{box.home}\n"]
    again = shell.run("restart", "first", "--until", "exit", "--timeout", "20s")
    assert again.err.startswith("first is on box\n")
    assert shell.run("logs", "--host", "box", "first").out == f"set \n{box.home}/work\n"


def test_another_python_is_remembered_for_a_host(shell: Shell, box: SshBox) -> None:
    shell.run("host", "box", "--python", "/no/such/python")

    failed = shell.run("ps", "--host", "box")

    assert failed.status == 3
    assert "/no/such/python" in failed.err
    shell.run("host", "box", "--forget", "python")
    assert shell.run("ps", "--host", "box").status == 0


def test_a_fault_in_the_file_is_shown_with_its_place(shell: Shell) -> None:
    folder = Path(os.environ["XDG_CONFIG_HOME"], "firedup", "hosts")
    folder.mkdir(parents=True)
    (folder / "box.toml").write_text("login = 1\n")

    for words in (("host", "box"), ("ps", "--host", "box"), ("host",)):
        wrong = shell.run(*words)

        assert wrong.status == 2
        assert wrong.err == (
            "firedup: box.toml: login must be true or false\n"
            f"  {folder}/box.toml:1:9\n    login = 1\n            ^\n"
        )


def test_hosts_are_listed_and_forgotten(shell: Shell) -> None:
    with open_index(index_path(os.environ)) as index:
        index.put(
            [IndexedRun("lab", "20261129-1", "kimi", "/f"), IndexedRun("local", "2", "x", "/f")]
        )
    shell.run("host", "ssh:box", "--login")

    assert shell.run("host").out == (
        "host   runs  remembered\nlocal     1  –\nbox       0  login\nlab       1  –\n"
    )
    assert json.loads(shell.run("host", "--json").out)["hosts"][1] == {
        "host": "box",
        "runs": 0,
        "remembered": ["login"],
    }
    for host, said in (("box", "its settings"), ("lab", "1 run, whose folders there stay")):
        assert shell.run("host", host, "--forget").out == f"forgot {host}: {said}\n"
    assert shell.run("host", "lab", "--forget").out == "nothing is known of lab\n"
    assert shell.run("host").out == "host   runs  remembered\nlocal     1  –\n"


def test_what_is_remembered_now_is_told_as_json_too(shell: Shell) -> None:
    said = shell.run("host", "box", "--env-file", "X", "--login", "--json")
    assert json.loads(said.out) == {
        "schema": 1,
        "host": "box",
        "remembered": {"login": True, "env_file": "X"},
    }
    left = shell.run("host", "box", "--forget", "env-file", "--json")
    assert json.loads(left.out)["remembered"] == {"login": True}
    alone = shell.run("host", "box", "--no-login")
    assert alone.out == "nothing is remembered of box\nCheck it: firedup host box\n"
    assert "box" not in shell.run("host").out


def test_nothing_is_forgotten_where_a_word_is_refused(shell: Shell) -> None:
    shell.run("host", "box", "--login", "--setup", "true")

    refused = shell.run("host", "box", "--forget", "setup", "--no-login", "--cwd", "")

    assert refused.status == 2
    assert refused.err.startswith("firedup: --cwd is empty\n")
    assert json.loads(shell.run("host", "--json").out)["hosts"][1]["remembered"] == [
        "setup",
        "login",
    ]


def test_a_doomed_launch_is_refused_there_and_a_replaced_home_is_noticed(
    shell: Shell, box: SshBox
) -> None:
    refused = shell.run("run", "--host", "box", "--cwd", f"{Path.home()}/gone", "--", "true")

    assert refused.status == 1
    note, what, *_ = refused.err.splitlines()
    assert note == f"{Path.home()}/gone is on box; if you typed a ~, quote it: '~/gone'"
    assert what.startswith("firedup: refused to launch on box: The folder to run in does not exist")
    assert list(box.state.glob("firedup/runs/*")) == []

"""Hostile names, paths, values and log lines reach programs as they are, and no shell ever."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typing_user import User

from firedup.core.error import FiredupError
from firedup.host.address import parse_host
from firedup.host.base import Host
from tests.ssh_server import Boxes

PROGRAM = ("python3", "-c", "print('x y')", "", "$(id)", "; id", "-v")
SHELLS = ("sh", "bash", "zsh", "fish", "tcsh")
SHOW = "import json,os,sys; print(json.dumps([os.fsencode(a).hex() for a in sys.argv[1:]]))"
HOSTILE = (
    "$(touch pwned)",
    "`touch pwned`",
    "; touch pwned",
    "| touch pwned",
    "&& touch pwned",
    "> pwned",
    "' touch pwned '",
    '" touch pwned "',
    "\\",
    "!!",
    "*",
    "~",
    "--force",
    "%s{rank}",
    "größe\t1",
    "#",
    "",
)
# What a launched server is: it says its words, its variables and its folder, and ends.
SERVER = """
import json, os, sys
found = {"argv": sys.argv[1:], "cwd": os.getcwd()}
found["env"] = {name: value for name, value in os.environ.items() if name.startswith("EVIL")}
print(json.dumps(found), flush=True)
"""
# Fails once a client has read its first words: it is the client that knows the cause.
WATCHED = """
import glob, os, time
print("hello", flush=True)
records = os.environ["XDG_STATE_HOME"] + "/firedup/runs/*/events.jsonl"
while not any('"event":"log"' in open(path).read() for path in glob.glob(records)):
    time.sleep(0.05)
"""
names = st.text(
    st.characters(exclude_characters="\0", exclude_categories=["Cs"])
    | st.sampled_from("$`;|&<>'\"\\ -!*~#,:/=\n"),
    min_size=1,
    max_size=20,
)
kinds = st.sampled_from(["", "ssh:", "docker:", "podman:", "k8s:", "k8s:ns/", "slurm:", "slurm:1/"])


def host_of(text: str) -> Host | None:
    try:
        return parse_host(text)
    except FiredupError:
        return None


@given(kind=kinds, name=names)
def test_a_host_is_refused_or_its_name_is_one_word_that_is_no_option(kind: str, name: str) -> None:
    # What no option holds marks the name; a job is a number and takes no mark.
    host = host_of(f"{kind}{name}QZX")

    if host is None or host.is_local or len(host.hops) > 1:
        return
    words = host.command(PROGRAM)
    holders = [word for word in words if "QZX" in word]
    assert holders
    for word in holders:
        is_value = word.startswith(("--namespace=", "--container=", "--jobid=", "--nodelist="))
        assert not word.startswith("-") or is_value
    if kind not in ("", "ssh:"):  # no shell on the way: the program's words stand as they are
        assert words[-len(PROGRAM) :] == PROGRAM


@pytest.mark.parametrize("shell", SHELLS)
@settings(max_examples=15)
@given(container=names, word=names)
def test_words_for_a_container_behind_a_login_shell_pass_it_unchanged(
    shell: str, container: str, word: str
) -> None:
    """The whole way of `ssh:box,docker:NAME`, with a `docker` that shows its words."""
    if (path := shutil.which(shell)) is None:
        pytest.skip(f"{shell} is not installed")
    host = host_of(f"ssh:box,docker:{container}")
    if host is None or len(host.hops) != 2:
        return
    if shell == "tcsh":  # knows no line break within a word
        word = word.replace("\n", "").replace("\r", "")
    inner = host.hops[1].wrap(("serve", word))
    line = host.hops[0].wrap((sys.executable, "-I", "-S", "-c", SHOW, *inner))[-1]

    done = subprocess.run(
        [path, "-c", line], capture_output=True, check=True, env={"LC_ALL": "C.UTF-8"}
    )

    arrived = [bytes.fromhex(found).decode() for found in json.loads(done.stdout)]
    assert arrived == list(inner)


def launched(user: User, *options: str, words: tuple[str, ...] = HOSTILE) -> dict[str, object]:
    """What a launched server says of itself."""
    program = user.program(SERVER)
    done = user.type(
        "run", "--no-wait", "--force", "--name", "evil", *options, "--", program, *words
    )
    assert done.status == 0, done.all
    host = options[: options.index("--host") + 2][-2:] if "--host" in options else ()
    user.type("attach", *host, "--until", "exit", "evil")
    said = user.type("logs", *host, "evil")
    found: dict[str, object] = json.loads(said.out.splitlines()[-1])
    return found


def test_a_server_gets_its_words_variables_and_folder_unchanged(user: User) -> None:
    folder = user.folder / "a $(touch pwned); 'b' \"c\" -x"
    folder.mkdir()
    options = [word for n, value in enumerate(HOSTILE) for word in ("--env", f"EVIL{n}={value}")]
    log = user.folder / "$(touch pwned) `id`.log"

    found = launched(user, "--cwd", str(folder), "--log", str(log), *options)

    assert found["argv"] == list(HOSTILE)
    assert found["env"] == {f"EVIL{n}": value for n, value in enumerate(HOSTILE)}
    assert found["cwd"] == str(folder)
    assert not list(user.folder.rglob("pwned"))


def test_words_behind_set_up_text_are_not_read_by_its_shell(user: User) -> None:
    found = launched(user, "--login", "--setup", "export EVIL='set up'", "--env", "EVIL1=$(id)")

    assert found["argv"] == list(HOSTILE)
    assert found["env"] == {"EVIL": "set up", "EVIL1": "$(id)"}
    assert not list(user.folder.rglob("pwned"))


@pytest.mark.parametrize("shell", SHELLS)
def test_a_server_behind_any_login_shell_gets_its_words_unchanged(
    shell: str, user: User, ssh_boxes: Boxes
) -> None:
    if (path := shutil.which(shell)) is None:
        pytest.skip(f"{shell} is not installed")
    box = ssh_boxes("box")
    box.use_shell(path)

    found = launched(user, "--host", "box", "--login", "--env", "EVIL=$(touch pwned)")

    assert found["argv"] == list(HOSTILE)
    assert found["env"] == {"EVIL": "$(touch pwned)"}
    for place in (user.folder, box.home):
        assert not list(place.rglob("pwned"))


def test_what_a_log_says_is_a_value_for_a_hook_and_never_its_text(user: User) -> None:
    line = "RuntimeError: $(touch pwned) `touch pwned`; touch pwned '\" | > pwned"
    seen = user.folder / "seen"
    program = user.program(WATCHED + f"raise RuntimeError({line.partition(': ')[2]!r})\n")
    hook = f'printf %s "$FIREDUP_CAUSE_LINE" > {seen}.new && mv {seen}.new {seen}'

    done = user.type("run", "--until", "exit", "--on", "crashed", hook, "--", program)

    assert done.status == 1
    wait_for(seen)
    assert seen.read_text() == line
    assert not list(user.folder.rglob("pwned"))


def wait_for(path: Path) -> None:
    """Until a hook has made a file; the test's time limit ends it."""
    command = 'while test ! -e "$1"; do sleep 0.05; done'
    subprocess.run(["/bin/sh", "-c", command, "sh", str(path)], timeout=60, check=True)

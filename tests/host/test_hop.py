"""Hops into containers, pods and jobs: their argv, and what is said when one cannot be taken.

tests/standin has the clients that stand in; test_real_clients.py holds the words against real ones.
"""

import json
import os
import shlex
import subprocess
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from firedup.core.error import HostError, UsageError
from firedup.host.address import parse_host
from firedup.host.base import LinkError, Trouble
from firedup.host.container import Container
from firedup.host.kubernetes import Pod
from firedup.host.link import open_agent
from firedup.host.slurm import SlurmJob, drop_noise
from firedup.host.source import parse_source
from firedup.host.stamp import Cursor
from firedup.host.standing import Standing

STANDIN = Path(__file__).parent.parent / "standin"


@pytest.fixture(autouse=True)
def standin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "standin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{STANDIN}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("STANDIN_FOLDER", str(folder))
    (folder / "jobs.json").write_text(
        json.dumps({"7": ["RUNNING", "gpu1", "gpu2"], "8": ["PENDING"], "9": ["COMPLETING"]})
    )
    return folder


@pytest.fixture
def container(state: Path) -> str:
    words = ("docker", "run", "-d", "--name", "sgl", "img", "sleep", "120")
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
    return "sgl"


async def test_an_agent_answers_behind_each_hop(container: str, standin: Path) -> None:
    (standin / "pods.json").write_text(json.dumps({"llm/sgl-0": {"server": container}}))
    for word in ("docker:sgl", "podman:sgl", "k8s:llm/sgl-0:server", "slurm:7", "slurm:7/gpu2"):
        async with open_agent(parse_host(word)) as agent:
            assert agent.hello["boot_id"], word


@pytest.mark.parametrize(
    ("word", "trouble", "advice"),
    [
        ("docker:nobody", Trouble.NO_PLACE, "docker ps --all"),
        ("podman:nobody", Trouble.NO_PLACE, "podman ps --all"),
        ("k8s:llm/nobody", Trouble.NO_PLACE, "kubectl get pods --namespace=llm"),
        ("k8s:nowhere/sgl-0", Trouble.NO_PLACE, "kubectl get namespaces"),
        ("slurm:5", Trouble.NO_PLACE, "squeue --me"),
        ("slurm:8", Trouble.NO_PLACE, "squeue --start --job 8"),
        ("slurm:9", Trouble.NO_PLACE, "sacct --jobs 9"),
        ("slurm:7/gpu9", Trouble.NO_PLACE, "scontrol show job 7"),
    ],
)
async def test_a_hop_that_leads_nowhere_says_what_to_do(
    container: str, standin: Path, word: str, trouble: Trouble, advice: str
) -> None:
    (standin / "pods.json").write_text(json.dumps({"llm/sgl-0": {"server": container}}))

    with pytest.raises(HostError) as caught:
        async with open_agent(parse_host(word)):
            pass

    assert isinstance(caught.value, LinkError)
    assert caught.value.trouble is trouble
    assert advice in str(caught.value)


async def test_a_stopped_container_is_told_from_one_without_python(
    container: str, standin: Path
) -> None:
    (folder,) = (standin / "containers").iterdir()
    state = json.loads((folder / "state.json").read_text())
    (folder / "state.json").write_text(json.dumps({**state, "lacks": ["python3"]}))
    with pytest.raises(LinkError) as no_python:
        async with open_agent(parse_host("docker:sgl")):
            pass
    subprocess.run(("docker", "kill", "sgl"), check=True, stdout=subprocess.DEVNULL)
    subprocess.run(("docker", "wait", "sgl"), check=True, stdout=subprocess.DEVNULL)
    with pytest.raises(LinkError) as stopped:
        async with open_agent(parse_host("docker:sgl")):
            pass

    assert no_python.value.trouble is Trouble.NO_PYTHON
    assert "firedup watch docker:sgl" in str(no_python.value)
    assert stopped.value.trouble is Trouble.NO_PLACE
    assert "docker start sgl" in str(stopped.value)


@pytest.mark.parametrize(
    ("hop", "said", "trouble"),
    [
        (
            Container("x"),
            "permission denied while trying to connect to the Docker daemon socket at unix:///v",
            Trouble.OTHER,
        ),
        (
            Container("x"),
            ("Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker "
            "daemon running?"),
            Trouble.UNREACHED,
        ),
        (
            Container("x", "podman"),
            ("Error: crun: executable file `python3` not found in $PATH: No such file or "
            "directory: OCI runtime attempted to invoke a command that was not found"),
            Trouble.NO_PYTHON,
        ),
        (Container("x"), "Error response from daemon: Container ab12 is paused", Trouble.NO_PLACE),
        (Pod("x"), "Unable to connect to the server: dial tcp: no such host", Trouble.UNREACHED),
        (Pod("x"), 'error: context "gpu" does not exist', Trouble.UNREACHED),
        (Pod("x"), "error: You must be logged in to the server (Unauthorized)", Trouble.OTHER),
        (
            Pod("x"),
            ('Error from server (Forbidden): pods "x" is forbidden: User "u" cannot create '
            'resource "pods/exec" in API group "" in the namespace "llm"'),
            Trouble.OTHER,
        ),
        (Pod("x"), "command terminated with exit code 127", Trouble.NO_PYTHON),
        (
            SlurmJob("7"),
            ("srun: error: Unable to confirm allocation for job 7: Unable to contact slurm "
            "controller (connect failure)"),
            Trouble.UNREACHED,
        ),
        (SlurmJob("7"), "slurmstepd: error: execve(): python3: No such file or directory",
         Trouble.NO_PYTHON),
    ],
)  # fmt: skip
def test_what_a_client_says_is_understood(
    hop: Container | Pod | SlurmJob, said: str, trouble: Trouble
) -> None:
    found = hop.explain(1, said)

    assert found is not None
    assert found[0] is trouble


@pytest.mark.parametrize("hop", [Container("x"), Pod("x"), SlurmJob("7")])
def test_what_is_none_of_a_hops_faults_is_left_to_others(
    hop: Container | Pod | SlurmJob,
) -> None:
    assert hop.explain(1, "Traceback (most recent call last):\n  MemoryError") is None


def test_remarks_of_srun_about_steps_that_work_are_left_out() -> None:
    said = "srun: Step created for StepId=7.3\nsrun: error: gpu1: task 0: Killed"

    assert drop_noise(said) == "srun: error: gpu1: task 0: Killed"


HOSTILE = st.text(min_size=1, max_size=12) | st.sampled_from(
    ["--help", "-x", "$(touch pwned)", "`id`", "a;b", "a b", "'", '"', "\\", "*", "~", "#", "--"]
)


PROGRAM = ("python3", "-c", "print('x y')")
# What may stand before the name; joined to their values, these take no other word.
OPTIONS = (
    "-i",
    "--follow",
    "--timestamps",
    "--since",
    "--",
    "--container=",
    "--namespace=",
    "pod/",
)
SHELL = "".join(f"""{name}() {{ printf '%s\\0' "$@"; }}\n""" for name in ("docker", "kubectl"))


@given(HOSTILE, HOSTILE)
@example("$(touch pwned)", "; touch pwned")
@example("-x", "--all-containers")
@settings(max_examples=60)
def test_a_hostile_name_is_one_word_behind_a_shell_and_never_an_option(
    name: str, inside: str
) -> None:
    for word in (f"docker:{name}", f"k8s:ns/{name}:{inside}"):
        try:
            host, source = parse_host(f"box,{word}"), parse_source(word)
        except UsageError:
            continue  # refused before anything is run
        if len(host.hops) != 2 or source is None:
            continue  # a comma in it begins a hop of its own
        argv = host.hops[1].wrap(PROGRAM)
        remote = host.command(PROGRAM)[-1]

        done = subprocess.run(["sh", "-c", SHELL + remote], capture_output=True, check=True)

        assert tuple(done.stdout.decode().split("\0")[:-1]) == argv[1:]
        for words in (argv, source.argv(Standing("", is_running=True), Cursor(), follows=True)):
            before = words[2 : words.index("--")] if "--" in words else words[2:]
            assert all(one.startswith(OPTIONS) for one in before)


@given(HOSTILE.filter(lambda name: "\0" not in name))
@settings(max_examples=25)
def test_any_name_at_all_comes_to_the_client_as_it_is(name: str) -> None:
    for hop in (Container(name), Pod(name, name, name)):
        argv = hop.wrap(PROGRAM)

        done = subprocess.run(
            ["sh", "-c", SHELL + shlex.join(argv)], capture_output=True, check=True
        )

        assert tuple(done.stdout.decode().split("\0")[:-1]) == argv[1:]

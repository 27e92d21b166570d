"""The words that firedup gives to docker, kubectl and journalctl, held against the real programs.

No daemon, cluster or journal is needed: a client that reads its options complains of those before
it complains that nobody answers. What is not installed is skipped.
"""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from firedup.host.container import Container
from firedup.host.containerlog import ContainerLog
from firedup.host.journal import Unit
from firedup.host.kubernetes import Pod
from firedup.host.podlog import FORMAT, PodLog, read_pod
from firedup.host.source import Source
from firedup.host.stamp import Cursor
from firedup.host.standing import Standing

STANDING = Standing("0a1b", is_running=True, started_wall_ns=1795988308_123456789)
CURSOR = Cursor(((1795988308_123456789, 7),))
NOBODY = {**os.environ, "DOCKER_HOST": "unix:///nonexistent.sock", "KUBECONFIG": "/dev/null"}


def ask(argv: tuple[str, ...]) -> str:
    if shutil.which(argv[0]) is None:
        pytest.skip(f"{argv[0]} is not installed")
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60, env=NOBODY)
    return done.stdout + done.stderr


@pytest.mark.parametrize("name", ["sgl", "--help", "-it", "$(id)"])
@pytest.mark.parametrize("follows", [True, False])
def test_docker_takes_the_options_and_no_name_for_one(name: str, follows: bool) -> None:
    log = ContainerLog(name)
    inspect = ("docker", "container", "inspect", "--format", "{{json .Id}}", "--", name)
    for argv in (
        Container(name).wrap(("true",)),
        log.argv(STANDING, CURSOR, follows=follows),
        log.waiter,
        log.events(STANDING, 1795988309_000000000),
        inspect,
        ("docker", "stop", "-t", "30", "--", name),
        ("docker", "kill", "--signal", "SIGTERM", "--", name),
    ):
        assert "Cannot connect to the Docker daemon" in ask(argv), argv


@pytest.mark.parametrize("name", ["sgl-0", "--help", "-x"])
def test_kubectl_takes_the_options_and_no_name_for_one(name: str) -> None:
    pod = Pod(name, "llm", "server")
    for argv in (pod.wrap(("true",)), PodLog(pod).argv(STANDING, CURSOR, follows=True)):
        assert "was refused" in ask(argv), argv


def test_kubectl_fills_in_the_form_in_which_a_pod_is_asked_for(tmp_path: Path) -> None:
    container = {"name": "a", "image": "x", "command": ["sglang", "a\tb"], "args": ["--port", "3"]}
    state = {"terminated": {"exitCode": 137, "reason": "OOMKilled"}}
    status = {"name": "a", "restartCount": 2, "state": state}
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "sgl-0"},
        "spec": {"containers": [container, {"name": "b", "image": "y"}]},
        "status": {"phase": "Running", "containerStatuses": [status]},
    }
    file = tmp_path / "pod.json"
    file.write_text(json.dumps(pod))

    told = ask(("kubectl", "set", "image", "--local", "-f", str(file), "a=z", f"--output={FORMAT}"))
    standing = read_pod(told, Pod("sgl-0"))

    assert standing.argv == ("sglang", "a\tb", "--port", "3")
    assert (standing.signal, standing.oom_killed, standing.restarts) == (9, True, 2)


@pytest.mark.parametrize("source", [Unit("sglang.service"), Unit("sglang", is_user=True)])
def test_journalctl_takes_the_options(source: Source) -> None:
    for cursor in (Cursor(), Cursor(place="s=1;i=2")):
        for standing in (STANDING, Standing("", is_running=False)):
            said = ask(source.argv(standing, cursor, follows=False))

            assert "option" not in said
            assert "Failed to add match" not in said

"""Commands that start a container: what runs inside, and where it is reached from outside."""

import shlex

import pytest

from firedup.core.model import ServerSpec
from firedup.profile.command import read_command
from firedup.profile.container import parse_container
from firedup.profile.load import load_catalogue

CATALOGUE = load_catalogue()


def read(command: str) -> ServerSpec:
    return read_command(tuple(shlex.split(command)), {}, CATALOGUE)


@pytest.mark.parametrize(
    ("command", "engine", "port", "model"),
    [
        (
            ("docker run --gpus all --shm-size 32g -p 8000:30000 -v ~/hf:/cache --ipc=host "
            "lmsysorg/sglang python3 -m sglang.launch_server --model-path org/m --port 30000"),
            "sglang", 8000, "org/m",
        ),
        (
            ("docker run --runtime nvidia --gpus all -p 8100:8000 --ipc=host "
            "vllm/vllm-openai:latest --model org/m"),
            "vllm", 8100, "org/m",
        ),
        (
            "podman run --rm -d --network=host ghcr.io/ggml-org/llama.cpp:server -m /m/x.gguf",
            "llama-cpp", 8080, "/m/x.gguf",
        ),
        (
            ("sudo docker --context gpu container run -dp 127.0.0.1:9000:30000 sgl "
            "sglang serve --model-path org/m --port 30000"),
            "sglang", 9000, "org/m",
        ),
        (
            "docker run --entrypoint python3 img -m sglang.launch_server --model-path org/m",
            "sglang", None, "org/m",
        ),
        ("docker run -it --net host img bash -c 'vllm serve org/m --port 7'", "vllm", 7, "org/m"),
    ],
)  # fmt: skip
def test_the_server_inside_is_read_with_its_port_outside(
    command: str, engine: str, port: int | None, model: str
) -> None:
    spec = read(command)

    assert (spec.engine, spec.port, spec.model) == (engine, port, model)
    assert spec.argv == tuple(shlex.split(command))


def test_variables_of_the_container_count_and_those_of_the_client_do_not() -> None:
    inside = read("docker run --network host -e VLLM_API_KEY=k img vllm serve org/m")
    outside = read("env VLLM_API_KEY=k docker run --network host img vllm serve org/m")

    assert inside.has_api_key
    assert not outside.has_api_key


@pytest.mark.parametrize(
    ("words", "path", "outside"),
    [
        ("-v /data/models:/models:ro", "/models/k2", "/data/models/k2"),
        ("--mount type=bind,source=/data,target=/m", "/m/k2", "/data/k2"),
        ("-v /a:/m -v /b:/m/deep", "/m/deep/k2", "/b/k2"),
        ("-v cache:/models", "/models/k2", None),
        ("-v /data:/models", "/modelsx/k2", None),
        ("-v /data:/models", "/models", "/data"),
    ],
)
def test_a_path_inside_lies_where_its_mount_does(
    words: str, path: str, outside: str | None
) -> None:
    found = parse_container(shlex.split(f"docker run {words} img serve"))

    assert found is not None
    assert found.outside(path) == outside


@pytest.mark.parametrize(
    ("ports", "told"),
    [
        ("-p 8000:30000", [(30000, 8000, None)]),
        ("-p8000:30000/tcp", [(30000, 8000, None)]),
        ("--publish=[::1]:1:2", [(2, 1, "::1")]),
        ("-p 1-2:3-4", [(3, 1, None), (4, 2, None)]),
        ("-p 30000", []),
        ("-p 53:53/udp", []),
    ],
)
def test_published_ports_are_read(ports: str, told: list[tuple[int, int, str | None]]) -> None:
    found = parse_container(shlex.split(f"docker run {ports} img"))

    assert found is not None
    assert [(p.inside, p.outside, p.address) for p in found.ports] == told


@pytest.mark.parametrize(
    ("flags", "is_detached", "wants_terminal"),
    [
        ("", False, False),
        ("-d", True, False),
        ("-itd", True, True),
        ("-it", False, True),
        ("--detach=false -i", False, False),
        ("--interactive --tty", False, True),
    ],
)
def test_switches_are_read_in_every_form(
    flags: str, is_detached: bool, wants_terminal: bool
) -> None:
    found = parse_container(shlex.split(f"docker run {flags} --name x img -d -it"))

    assert found is not None
    assert (found.is_detached, found.wants_terminal) == (is_detached, wants_terminal)
    assert (found.name, found.image, found.command) == ("x", "img", ("-d", "-it"))


def test_a_composed_server_is_recognised() -> None:
    found = parse_container(shlex.split("docker compose -f a.yaml --profile gpu up -d llm"))

    assert found is not None
    assert (found.verb, found.is_detached, found.services) == ("up", True, ("llm",))
    assert found.client == ("docker", "compose", "-f", "a.yaml", "--profile", "gpu")


@pytest.mark.parametrize(
    "command", ["docker ps", "docker", "sglang serve", "docker compose ps", ""]
)
def test_other_commands_start_no_container(command: str) -> None:
    assert parse_container(shlex.split(command)) is None

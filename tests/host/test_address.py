import shlex
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firedup.core.error import UsageError
from firedup.host.address import parse_host
from firedup.host.base import Host
from firedup.host.container import Container
from firedup.host.kubernetes import Pod
from firedup.host.slurm import SlurmJob
from firedup.host.ssh import Ssh


@pytest.mark.parametrize("text", ["", "local", "localhost"])
def test_this_machine_has_no_hops(text: str) -> None:
    assert parse_host(text).is_local


@pytest.mark.parametrize(
    ("text", "hop"),
    [
        ("box", Ssh("box")),
        ("root@10.0.0.7", Ssh("root@10.0.0.7")),
        ("ssh:box", Ssh("box")),
        ("ssh://root@box:2222", Ssh("ssh://root@box:2222")),
        ("docker:sgl", Container("sgl")),
        ("podman:sgl", Container("sgl", "podman")),
        ("k8s:serving/sgl-0", Pod("sgl-0", "serving")),
        ("k8s:sgl-0", Pod("sgl-0")),
        ("k8s:serving/sgl-0:engine", Pod("sgl-0", "serving", "engine")),
        ("slurm:4711", SlurmJob("4711")),
        ("slurm:4711_2/node7", SlurmJob("4711_2", "node7")),
    ],
)
def test_each_kind_of_host_has_its_form(text: str, hop: object) -> None:
    assert parse_host(text).hops == (hop,)


def test_hops_are_taken_from_left_to_right() -> None:
    host = parse_host("ssh:box,docker:sgl")

    assert host.name == "box,docker:sgl"
    assert host.hops == (Ssh("box"), Container("sgl"))
    *_, destination, remote = host.command(("python3", "-c", "print('x y')"))
    assert destination == "box"
    inside = ["python3", "-c", "print('x y')"]
    assert shlex.split(remote) == ["docker", "exec", "-i", "--", "sgl", *inside]


@pytest.mark.parametrize(
    ("texts", "name"),
    [
        (("box", "ssh:box", " box ", "local,box", "localhost, ssh:box"), "box"),
        (("box,docker:x", "ssh:box,docker:x", "ssh:box, docker:x"), "box,docker:x"),
        (("a,b", "ssh:a,ssh:b", "ssh:a,b"), "a,b"),
        (("docker:x", "local,docker:x"), "docker:x"),
        (("slurm:4711", "slurm:4711/"), "slurm:4711"),
        (("ssh://root@box:22", "ssh:ssh://root@box:22"), "ssh://root@box:22"),
        (("local", "localhost", "", "local,localhost"), "local"),
        # A login at this machine is another way than none, and OpenSSH takes a bare address.
        (("ssh:localhost",), "ssh:localhost"),
        (("ssh:::1",), "ssh:::1"),
    ],
)
def test_a_host_has_one_name_however_it_is_written(texts: tuple[str, ...], name: str) -> None:
    assert {parse_host(text).name for text in texts} == {name}
    assert parse_host(name) == parse_host(texts[0])


WORDS = st.sampled_from(
    [
        *("", "local", "localhost", "box", "u@box", "ssh:", "ssh:box", "ssh:local"),
        *("ssh://box:1", "ssh:a:b", "ssh:::1", "docker:x", "podman:x", "k8s:n/p:c", "k8s:p"),
        *("slurm:1/n", "slurm:1/"),
    ]
)


@given(st.lists(WORDS, min_size=1, max_size=4))
def test_the_name_of_a_host_names_the_same_host(words: list[str]) -> None:
    try:
        host = parse_host(",".join(words))
    except UsageError:
        return

    assert parse_host(host.name) == host


@pytest.mark.parametrize(
    "text",
    [
        "ssh:",
        "docker:",
        "-oProxyCommand=x",
        "ssh:-x",
        "a b",
        "box,",
        "k8s:/pod",
        "k8s:a/b/c",
        "k8s:a/-b",
        "slurm:x",
        "ssh:a\nb",
    ],
)
def test_what_names_no_host_is_refused_with_the_forms_that_do(text: str) -> None:
    with pytest.raises(UsageError, match="names no host") as caught:
        parse_host(text)

    assert "docker:NAME" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("dokcer:sgl", "'dokcer' is no kind of host; did you mean docker?"),
        ("foo:bar", "'foo' is no kind of host"),
        ("ssh:box,foo:bar", "'foo' is no kind of host"),
        ("docker://sgl", "'docker' is no kind of host"),
        ("box:2222", "Write ssh://box:2222"),
        ("root@box:2222", "Write ssh://root@box:2222"),
        ("[::1]:2222", "Write ssh://[::1]:2222"),
        ("::1", "Write ssh://[::1]:22,"),
        ("root@fe80::1", "Write ssh://root@[fe80::1]:22,"),
    ],
)
def test_a_colon_behind_no_kind_of_host_is_not_left_to_openssh(text: str, said: str) -> None:
    with pytest.raises(UsageError, match="names no host") as caught:
        parse_host(text)

    assert said in str(caught.value)


@given(st.lists(st.text(st.characters(exclude_characters="\0", codec="utf-8")), min_size=1))
def test_no_word_is_changed_by_the_shell_behind_ssh(words: list[str]) -> None:
    command = Host("box", (Ssh("box"),)).command(("printf", "%s\\0", *words))

    done = subprocess.run(["/bin/sh", "-c", command[-1]], stdout=subprocess.PIPE, check=True)

    assert done.stdout.decode().split("\0")[:-1] == words

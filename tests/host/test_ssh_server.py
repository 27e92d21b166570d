"""The hosts behind SSH that other tests use are what they claim to be."""

import os
import shlex
import subprocess

import pytest
from leftover import ending

from tests.ssh_server import SshBox


def run(box: SshBox, command: str) -> subprocess.CompletedProcess[str]:
    client = shlex.split(os.environ["FIREDUP_SSH"])
    return subprocess.run(
        [*client, "-o", "BatchMode=yes", box.name, command],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=100,
    )


def test_the_real_client_reaches_a_host_with_a_home_of_its_own(ssh_box: SshBox) -> None:
    done = run(ssh_box, 'echo "$HOME $XDG_STATE_HOME"; pwd; env | cut -d= -f1 | sort; exit 3')

    assert done.returncode == 3
    where, folder, *names = done.stdout.splitlines()
    assert where == f"{ssh_box.home} {ssh_box.state}"
    assert folder == str(ssh_box.home)
    assert set(names) <= {
        *("HOME", "LOGNAME", "PATH", "PWD", "SHELL", "SSH_CONNECTION", "USER"),
        *("XDG_STATE_HOME", "OLDPWD", "_"),
    }


def test_a_way_that_is_cut_refuses_until_it_is_healed(ssh_box: SshBox) -> None:
    ssh_box.cut()
    refused = run(ssh_box, "echo hello")
    ssh_box.heal()

    assert refused.returncode == 255
    assert "Connection refused" in refused.stderr
    assert run(ssh_box, "echo hello").stdout == "hello\n"


@pytest.mark.parametrize("way", ["sessions", "proxy"])
def test_a_running_session_breaks_when_it_is_told_to(ssh_box: SshBox, way: str) -> None:
    client = shlex.split(os.environ["FIREDUP_SSH"])
    session = subprocess.Popen(
        [*client, ssh_box.name, "echo begun; cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    with ending(session) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"begun\n"
        if way == "sessions":
            ssh_box.kill_sessions()
        else:
            ssh_box.cut()
        assert process.wait(100) == 255


def test_what_a_login_prints_and_its_shell_can_be_chosen(ssh_box: SshBox) -> None:
    ssh_box.before("echo Welcome\n")
    ssh_box.use_shell("/bin/bash")

    assert run(ssh_box, "echo $BASH").stdout == "Welcome\n/bin/bash\n"

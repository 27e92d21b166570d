"""Why an agent did not start or ended, told from what its process left behind."""

from __future__ import annotations

import re
import shlex

from firedup.host.base import Host, LinkError, Trouble
from firedup.host.ssh import Ssh
from firedup.host.sshtrouble import is_break

_SHOWN = 2000  # characters of each output, the last ones
# What kept an agent from starting, as a headline.
_HEADLINES = {
    Trouble.UNREACHED: "not reached",
    Trouble.NEEDS_ANSWER: "the login needs a password or another key",
    Trouble.UNKNOWN_KEY: "its host key is unknown here",
    Trouble.CHANGED_KEY: "its host key is not the known one",
    Trouble.NO_PLACE: "the container, pod or job is not there, or does not run",
    Trouble.NO_PYTHON: "no Python that the agent can run with",
    Trouble.DISK_FULL: "its disk is full",
}
_BREAK = re.compile(r"lost connection|unexpected EOF|websocket: close|i/o timeout", re.IGNORECASE)
_NO_SHELL = re.compile(
    r"account is currently not available|nologin|not allowed to log ?in|no shell|"
    r"only supports? (?:sftp|git|forwarding)|shell access is not|does not provide shell access",
    re.IGNORECASE,
)


def describe_outcome(
    host: Host, what: str | None, status: int | None, *, stderr: str, banner: str | None
) -> LinkError:
    """The error for an agent that is gone. `banner` is what came before it, None once it had begun.

    `what` is the headline, None to have it say what kept the agent from starting. `status` is the
    exit status of the process here (negative: a signal), None while it runs.
    """
    if banner is None:
        trouble, todo = _judge_end(host, status, stderr), None
    else:
        trouble, todo = _judge_start(host, status, stderr, banner)
    shown = {"stderr": stderr, "printed before the agent": banner or ""}
    evidence = [f"{name}: {text.strip()[-_SHOWN:]}" for name, text in shown.items() if text.strip()]
    why = None
    if status is not None:
        why = f"killed by signal {-status}" if status < 0 else f"exit status {status}"
    return LinkError(
        trouble,
        _headline(host, trouble) if what is None else f"{host.name}: {what}",
        where=place_of(host),
        evidence="\n  ".join(evidence) or None,
        why=why,
        todo=todo,
    )


def hides_cause(host: Host, error: LinkError) -> bool:
    """Whether the SSH client knows more about `error` than it said."""
    if not host.hops or not isinstance(host.hops[0], Ssh):
        return False
    return error.trouble is Trouble.UNKNOWN_KEY or "UNKNOWN port 65535" in (error.evidence or "")


def add_detail(host: Host, error: LinkError, said: str, key: str | None) -> LinkError:
    """`error` with what a closer look found: the client's complaints and the key of the host."""
    trouble, todo = host.hops[0].explain(255, said) or (error.trouble, error.todo)
    evidence = [f"stderr: {said.strip()[-_SHOWN:]}" if said.strip() else error.evidence]
    if trouble is Trouble.UNKNOWN_KEY and key is not None:
        evidence.append(f"it shows the key {key}")
    text = "\n  ".join(part for part in evidence if part)
    what = error.what if trouble is error.trouble else _headline(host, trouble)
    return LinkError(
        trouble, what, where=error.where, evidence=text or None, why=error.why, todo=todo
    )


def describe_no_client(host: Host, program: str, reason: str | None) -> LinkError:
    """The error for a program that is to lead to the host and cannot be started here."""
    if host.is_local:
        todo = f"Install Python 3.6 or newer as {host.python}."
        trouble = Trouble.NO_PYTHON
    elif isinstance(host.hops[0], Ssh):
        todo = "Install the OpenSSH client, or name it in FIREDUP_SSH."
        trouble = Trouble.NO_CLIENT
    else:
        todo, trouble = f"Install {program} on this machine.", Trouble.NO_CLIENT
    what = f"{host.name}: {program} cannot be started"
    return LinkError(trouble, what, where=place_of(host), why=reason, todo=todo)


def place_of(host: Host) -> str:
    """The way to the interpreter on a host, short enough to read."""
    return " → ".join((*(hop.word for hop in host.hops), host.python))


def _headline(host: Host, trouble: Trouble) -> str:
    return f"{host.name}: {_HEADLINES.get(trouble, 'the agent did not start')}"


def _judge_end(host: Host, status: int | None, stderr: str) -> Trouble:
    """Whether the process of an agent that had answered ended, or the way to it."""
    if host.is_local:
        return Trouble.AGENT_DIED
    first = host.hops[0]
    if not isinstance(first, Ssh):
        return Trouble.LINK_DOWN if _BREAK.search(stderr) else Trouble.AGENT_DIED
    if first.control_path is not None and status == 255:
        # One client of a shared connection says nothing when that breaks.
        return Trouble.AGENT_DIED if first.has_connection else Trouble.LINK_DOWN
    return Trouble.LINK_DOWN if is_break(status, stderr) else Trouble.AGENT_DIED


def _judge_start(
    host: Host, status: int | None, stderr: str, banner: str
) -> tuple[Trouble, str | None]:
    said = f"{stderr}\n{banner}"
    if "firedup needs Python 3.6" in stderr:
        return Trouble.NO_PYTHON, _name_python(host, "There is an older one only.")
    if "No space left on device" in said or "Disk quota exceeded" in said:
        return Trouble.DISK_FULL, f"Make room on {host.name}: df -h, and df -i for inodes."
    for hop in host.hops:
        if (found := hop.explain(status, stderr)) is not None:
            return found
    if status in (126, 127):
        install = f"Install Python 3.6 or newer on {host.name}, as {host.python}"
        return Trouble.NO_PYTHON, f"{install}. {_name_python(host)}".replace(". Or", ", or")
    if _NO_SHELL.search(said):
        return Trouble.OTHER, "The account's login shell lets no program run; use another account."
    if status is None and not banner:
        return (Trouble.OTHER if host.is_local else Trouble.UNREACHED), None
    if status == 0 or (status is not None and banner.strip()):
        todo = (
            "The login shell ended before the agent began. Something in its start files may exit "
            f"or start another program for logins without a terminal: {_by_hand(host)}"
        )
        return Trouble.OTHER, todo
    return Trouble.OTHER, None


def _name_python(host: Host, before: str = "") -> str:
    """How to say which interpreter is meant."""
    if host.is_local:
        return before
    typed = f"firedup host {shlex.quote(host.name)} --python /path/to/python3"
    return f"{before} Or name one that is there: {typed}".strip()


def _by_hand(host: Host) -> str:
    first = host.hops[0] if host.hops else None
    if isinstance(first, Ssh):
        return f"{first.by_hand} {shlex.quote(f'{host.python} -V')}"
    return f"{host.python} -V"

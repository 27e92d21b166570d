"""What the OpenSSH client prints when it fails → which trouble it is and what to type."""

from __future__ import annotations

import re
import shlex

from firedup.host.base import Trouble

# The first that is found counts: what stands above is the cause of what stands below. {0} is
# `ssh box`, as it can be typed; other fields come from the message itself.
_COMPLAINTS: tuple[tuple[str, Trouble, str], ...] = (
    (
        r"HOST IDENTIFICATION HAS CHANGED|Host key for (?P<host>\S+) has changed",
        Trouble.CHANGED_KEY,
        (
            "The host shows another key than before. Ask whoever runs it whether that is right; if "
            "so, forget the old key with ssh-keygen -R {host}, then decide once with: {0}"
        ),
    ),
    (
        r"REVOKED HOST KEY|host key .*revoked",
        Trouble.CHANGED_KEY,
        "The host shows a key that was revoked. Do not go on before its operator explains that.",
    ),
    (
        r"UNPROTECTED PRIVATE KEY FILE[\s\S]*?Permissions \d+ for '(?P<file>[^']+)'",
        Trouble.NEEDS_ANSWER,
        "OpenSSH uses no key that others may read: chmod 600 {file}",
    ),
    (
        r"agent refused operation",
        Trouble.NEEDS_ANSWER,
        (
            "The agent that holds your key would not sign (it may want to be asked, or be "
            "unlocked): ssh-add -l shows its keys; try once by hand: {0}"
        ),
    ),
    (
        r"Too many authentication failures",
        Trouble.NEEDS_ANSWER,
        (
            "The agent offers too many keys. Name the right one for this host in ~/.ssh/config: "
            "IdentityFile with IdentitiesOnly yes."
        ),
    ),
    (
        r"[Pp]assword has expired|[Pp]assword change required|account has expired",
        Trouble.NEEDS_ANSWER,
        "The account wants attention before programs can log in. By hand: {0}",
    ),
    (
        r"(?:ssh: )?Could not resolve hostname (?P<host>[^\s:]+)",
        Trouble.UNREACHED,
        "No such name: look for a typing mistake, or give {host} a HostName in ~/.ssh/config.",
    ),
    (
        (
            r"(?:stdio forwarding failed|Stdio forwarding request failed|open failed: "
            r"(?:connect failed|administratively prohibited))"
        ),
        Trouble.UNREACHED,
        "The jump host was reached, but not the host behind it. By hand, with all steps: {0} -v",
    ),
    (
        r"Connection refused",
        Trouble.UNREACHED,
        (
            "The machine is there and no SSH server listens at that port: is the port right (Port "
            "in ~/.ssh/config), has the host finished booting? By hand: {0}"
        ),
    ),
    (
        r"No route to host|Network is unreachable|Network is down|Host is down",
        Trouble.UNREACHED,
        "There is no way to the host from here: is the network up, is a VPN needed? By hand: {0}",
    ),
    (
        r"timed out|Operation timed out",
        Trouble.UNREACHED,
        (
            "The host does not answer: is it running, is the address right, does a firewall drop "
            "what is sent? By hand: {0}"
        ),
    ),
    (
        r"Host key verification failed",
        Trouble.UNKNOWN_KEY,
        (
            "Nobody has decided yet whether to trust this host. Compare the fingerprint with the "
            "one that its operator names, and decide once with: {0}"
        ),
    ),
    (
        r"Permission denied \((?P<ways>[^)]*)\)",
        Trouble.NEEDS_ANSWER,
        (
            "The host takes none of the keys that need no typing. A passphrase is typed once with "
            "ssh-add. No key there yet: {copy_id}. Another user: --host user@host."
        ),
    ),
    (
        r"Bad configuration option|terminating, \d+ bad configuration|Bad owner or permissions on",
        Trouble.OTHER,
        "OpenSSH refuses its configuration; the line above names the place.",
    ),
    (
        r"Unable to negotiate|no matching (?:host key|key exchange|cipher|MAC)",
        Trouble.OTHER,
        "Client and server have no algorithm in common; one of them is very old. By hand: {0}",
    ),
    (
        r"UNKNOWN port 65535",
        Trouble.UNREACHED,
        "The jump host or ProxyCommand ended the connection. By hand, with all steps: {0} -v",
    ),
    (
        r"kex_exchange_identification|Connection (?:closed|reset)|[Bb]roken pipe|disconnect",
        Trouble.UNREACHED,
        (
            "The host ended the connection before the login: it may be starting, be out of places "
            "(MaxStartups), or refuse this address. By hand: {0}"
        ),
    ),
)
# Options of ssh that say how a host is reached, as ssh-copy-id takes them.
_COPIED = {"-F": "-F {}", "-o": "-o {}", "-p": "-p {}", "-i": "-i {}"}
_COPIED |= {"-J": "-o ProxyJump={}", "-l": "-o User={}"}
_JUMP = re.compile(r"UNKNOWN port 65535|via [Pp]roxy|ProxyCommand")
# What is printed when a connection that had stood is gone.
_BREAK = re.compile(
    r"closed by remote host|client_loop: send disconnect|Connection reset|[Bb]roken pipe|"
    r"not responding|Timeout, server|mux_client|Shared connection to .* closed|"
    r"Connection to .* closed|Connection closed|Bad packet length|Corrupted MAC"
)


def explain_ssh(status: int | None, stderr: str, by_hand: str) -> tuple[Trouble, str] | None:
    """The trouble that the client's exit status and words tell of; None when it was not its own.

    `by_hand` is the command that a user can type, such as "ssh box".
    """
    if status is not None and status != 255:
        return None
    for pattern, trouble, todo in _COMPLAINTS:
        found = re.search(pattern, stderr)
        if found is None:
            continue
        names = {key: value or "" for key, value in found.groupdict().items()}
        names.setdefault("host", "")
        names["destination"] = by_hand.rpartition(" ")[2]
        names["copy_id"] = _copy_id(by_hand)
        names["host"] = names["host"] or _named_host(stderr) or names["destination"]
        remedy = todo.format(by_hand, **names)
        is_behind = _JUMP.search(stderr) is not None and "jump host" not in remedy
        return trouble, f"At a jump host: {remedy}" if is_behind else remedy
    if status == 255:
        return Trouble.UNREACHED, f"By hand, with all steps: {by_hand} -v"
    return None


def is_break(status: int | None, stderr: str) -> bool:
    """Whether a client that had stood for a while ended because its connection broke.

    An agent that is killed ends the client with 255 too, but without a word of these.
    """
    return status is None or status < 0 or (status == 255 and bool(_BREAK.search(stderr)))


def _copy_id(by_hand: str) -> str:
    """The command that puts a key where `by_hand` leads, with its options as far as it has them.

    `-F` is new in OpenSSH 9; an older one says so, and has no other way to take a file.
    """
    words = iter(shlex.split(by_hand))
    copied = ["ssh-copy-id"]
    destination = ""
    for word in words:
        destination = word
        if (form := _COPIED.get(word[:2])) is not None:
            value = word[2:] or next(words, "")
            copied.append(form.format(shlex.quote(value)))
    return " ".join([*copied, shlex.quote(destination)])


def _named_host(stderr: str) -> str | None:
    """The name that known_hosts has for the host whose key changed."""
    found = re.search(r'ssh-keygen -f \S+ -R "?([^"\s]+)|Host key for (\S+) has changed', stderr)
    return (found[1] or found[2]) if found else None

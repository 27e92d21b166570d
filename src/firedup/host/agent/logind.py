"""Keeps servers out of reach of logind, which ends what a user runs at logout on some hosts."""

import os
import pwd
import shutil

TYPE_CHECKING = False
if TYPE_CHECKING:
    pass

_LOGIND_LIMIT_S = 5
_SCOPE = ("systemd-run", "--user", "--scope", "--quiet", "--collect", "--")


def find_shelter() -> "tuple[list[str], str | None]":
    """What a keeper is to be started with, and what its operator has to know.

    Nothing of both where a logout ends no processes (KillUserProcesses=no, as it usually is), or
    where this is no session of logind's.
    """
    if not os.environ.get("XDG_SESSION_ID") or not shutil.which("loginctl"):
        return [], None
    user = _user_name()
    manager = _ask_logind("show-session", "KillUserProcesses", "KillExcludeUsers", "KillOnlyUsers")
    only = manager.get("KillOnlyUsers", "").split()
    is_spared = user in manager.get("KillExcludeUsers", "").split() or (only and user not in only)
    if manager.get("KillUserProcesses") != "yes" or is_spared:
        return [], None
    if not shutil.which(_SCOPE[0]):
        return [], "this host ends what a user runs at logout (KillUserProcesses=yes), servers too"
    if _ask_logind("show-user", "Linger", of=user).get("Linger") == "yes":
        return list(_SCOPE), None
    return list(_SCOPE), (
        "this host ends what a user runs at the last logout, servers too, "
        "until you allow it there once with: loginctl enable-linger"
    )


def _ask_logind(verb: str, *names: str, of: str = "") -> "dict[str, str]":
    import subprocess

    words = ["loginctl", verb, *([of] if of else []), *("--property=" + name for name in names)]
    try:
        said = subprocess.run(
            words,
            check=False,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=_LOGIND_LIMIT_S,
        ).stdout.decode("utf-8", "replace")
    except (OSError, subprocess.SubprocessError):
        return {}
    return dict(line.split("=", 1) for line in said.splitlines() if "=" in line)


def _user_name() -> str:
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return str(os.getuid())

"""Turns a child of the keeper into the server: its surroundings, its set-up, its program."""

import errno
import os
import signal

from firedup.host.agent.carry import carry
from firedup.host.agent.system import arming_folder, write_all

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_SETUP_FAILED = '{ s=$?; echo "firedup: the set-up failed with status $s" >&2; exit "$s"; }'


def become_server(
    manifest: "dict[str, Any]", variables: "list[tuple[str, str]]", log: int, report: int
) -> None:
    """Everything up to exec; what went wrong goes to `report` as "ERRNO WHAT". Never returns.

    `variables` are those of --env-file, over which the manifest's own win.
    """
    what = "the server could not be prepared"
    words = ""
    try:
        os.setsid()
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, 0)
        os.dup2(log, 1)
        os.dup2(log, 2)
        forget_signals()
        env = dict(os.environ)
        env.setdefault("PYTHONUNBUFFERED", "1")
        env.update(variables)
        env.update(manifest.get("env") or {})
        env["FIREDUP_RUN"] = manifest["id"]
        arming = _arming_of(manifest)
        if arming and not _needs_shell(manifest):
            env["PYTHONPATH"] = arming + (":" + env["PYTHONPATH"] if env.get("PYTHONPATH") else "")
        what = f"the working folder {manifest['cwd']} cannot be entered"
        os.chdir(to_bytes(manifest["cwd"]))
        raw = {to_bytes(name): to_bytes(value) for name, value in env.items()}
        if manifest.get("container"):
            what = f"{manifest['argv'][0]} cannot be executed"
            carry(manifest, _commands, raw, report)
        commands = _commands(manifest)
        for number, argv in enumerate(commands, 1):
            what = f"{argv[0]} cannot be executed"
            try:
                os.execvpe(to_bytes(argv[0]), [to_bytes(word) for word in argv], raw)  # noqa: S606
            except (FileNotFoundError, NotADirectoryError):
                if manifest.get("login"):
                    what = "--login needs bash, which is not on this host"
                if number == len(commands):
                    raise
    except OSError as error:
        words = f"{error.errno or 0} {what}"
    except BaseException as error:  # noqa: BLE001 - the parent's code must not run twice
        words = f"{errno.EINVAL} {what}: {error}"
    try:
        write_all(report, words.encode("utf-8", "replace"))
    finally:  # also where the keeper is gone and nobody reads
        os._exit(127)


def forget_signals() -> None:
    """Default handling of all signals, and none of them blocked."""
    for number in range(1, signal.NSIG):
        try:
            signal.signal(number, signal.SIG_DFL)
        except (OSError, ValueError):  # those that nobody may change
            continue
    signal.pthread_sigmask(signal.SIG_SETMASK, set())


def to_bytes(text: str) -> bytes:
    """As the client meant it, whatever this host's locale: UTF-8, and stray bytes as they were."""
    return text.encode("utf-8", "surrogateescape")


def _needs_shell(manifest: "dict[str, Any]") -> bool:
    return bool(manifest.get("setup") or manifest.get("login"))


def _arming_of(manifest: "dict[str, Any]") -> str:
    """The folder that arms the server's Python processes, empty where they are not to be."""
    if not manifest.get("arms_stacks"):
        return ""
    return arming_folder(manifest["id"])


def _commands(manifest: "dict[str, Any]") -> "list[list[str]]":
    """The server's argv, or the shells that may run it after its set-up, best first."""
    argv = list(manifest["argv"])
    if not _needs_shell(manifest):
        return [argv]
    arming = _arming_of(manifest)
    if arming:  # after the set-up, which may have set the variable anew
        import shlex

        arming = f'export PYTHONPATH={shlex.quote(arming)}"${{PYTHONPATH:+:$PYTHONPATH}}"\n'
    script = f'{{ {manifest.get("setup") or ":"}\n}} || {_SETUP_FAILED}\n{arming}exec "$@"'
    shells = [["bash", "-lc"]] if manifest.get("login") else [["bash", "-c"], ["sh", "-c"]]
    return [[*shell, script, "firedup", *argv] for shell in shells]

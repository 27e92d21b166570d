"""Runs the commands that a run's manifest names for an event, once each."""

import os

from firedup.host.agent.run import find_run, read_json
from firedup.host.agent.system import AgentError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def op_hook(args: "dict[str, Any]", _work: "Any" = None) -> "dict[str, Any]":
    """hook {run, on, facts}: runs the manifest's hooks for the event `on` with a shell, detached.

    `facts` (name → text) become FIREDUP_NAME variables; nothing of them is part of the command.
    Output goes to hooks.log in the run folder. Only the first call for a run and event does
    anything, whoever makes it. Result: {started: number of commands}.
    """
    import subprocess

    folder = find_run(args["run"])
    manifest = read_json(os.path.join(folder, "manifest.json"))
    if manifest is None:
        raise AgentError("not-found", "the run has no readable manifest", folder)
    commands = [h["command"] for h in manifest.get("hooks") or () if h["on"] == args["on"]]
    if not commands or not _claim(os.path.join(folder, f"hook-{os.path.basename(args['on'])}")):
        return {"started": 0}
    env = dict(os.environ, FIREDUP_RUN_ID=manifest["id"], FIREDUP_NAME=manifest["name"])
    env.update(FIREDUP_EVENT=args["on"], FIREDUP_LOG=manifest["log"])
    for name, text in args.get("facts", {}).items():
        env[f"FIREDUP_{name.upper()}"] = str(text).replace("\0", "")
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
    log = os.open(os.path.join(folder, "hooks.log"), flags, 0o600)
    try:
        for command in commands:
            subprocess.Popen(
                ["/bin/sh", "-c", command],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=manifest["cwd"],
                env=env,
                start_new_session=True,
            )
    finally:
        os.close(log)
    return {"started": len(commands)}


def _claim(path: str) -> bool:
    """True for the first who asks."""
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    except FileExistsError:
        return False
    return True

"""Starts a keeper for a new run and reports whether the server's program began."""

import json
import os

from firedup.host.agent.armed import arm_run
from firedup.host.agent.file import make_folder
from firedup.host.agent.hook import expect_client, forget_client
from firedup.host.agent.logind import find_shelter
from firedup.host.agent.spawn import own_command
from firedup.host.agent.system import (
    AgentError,
    boot_id,
    boottime_ns,
    runs_folder,
    wall_ns,
    write_all,
    write_atomically,
)
from firedup.host.agent.variables import variables_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_SCHEMA = 1
_RUN_ID = "abcdefghijklmnopqrstuvwxyz0123456789-_."


def op_launch(args: "dict[str, Any]", _work: "Any" = None) -> "dict[str, Any]":
    """launch {manifest, only_prepares?, will_watch?}: makes the run folder, starts the keeper.

    Result, once the program runs: {folder, log, log_start, keeper: {pid, start_ticks}, server:
    {pid, start_ticks, pgid, sid}} or an error "exec-failed" when it did not begin (the run folder
    then holds its exit.json). With `only_prepares` the keeper is left to others: {folder}. A
    client that says that it `will_watch` is one that watches from now on, to the end of this agent
    or of `attend`.
    """
    manifest = dict(args["manifest"])
    run_id = manifest["id"]
    if not run_id or run_id[0] in "-." or any(c not in _RUN_ID for c in run_id.lower()):
        raise AgentError("bad-request", f"{run_id!r} is no id for a run")
    if not manifest["argv"] or not all(isinstance(word, str) for word in manifest["argv"]):
        raise AgentError("bad-request", "argv must be a list of at least one string")
    make_folder(runs_folder())
    folder = os.path.join(runs_folder(), run_id)
    os.mkdir(folder, 0o700)
    home = os.path.expanduser("~")
    cwd = manifest.get("cwd") or home
    manifest["schema"] = _SCHEMA
    manifest["cwd"] = os.path.join(home, os.path.expanduser(cwd))
    log = os.path.expanduser(manifest.get("log") or os.path.join(folder, "server.log"))
    manifest["log"] = os.path.join(manifest["cwd"], log)
    manifest["env_files"] = [variables_path(path) for path in manifest.get("env_files") or ()]
    manifest["boot_id"] = boot_id()
    manifest["launched"] = {"boottime_ns": boottime_ns(), "wall_ns": wall_ns()}
    shelter, note = find_shelter()
    manifest["notes"] = list(manifest.get("notes") or ()) + ([note] if note else [])
    if manifest.get("arms_stacks"):
        arm_run(run_id)
    text = json.dumps(manifest, indent=1, sort_keys=True)
    write_atomically(os.path.join(folder, "manifest.json"), text.encode("ascii"))
    if args.get("will_watch"):
        expect_client(folder)
    if args.get("only_prepares"):
        return {"folder": folder}
    try:
        return _start_anywhere(folder, shelter)
    except BaseException:
        forget_client(folder)
        raise


def _start_anywhere(folder: str, shelter: "list[str]") -> "dict[str, Any]":
    try:
        return start_keeper(folder, shelter)
    except KeeperSilentError:
        if not shelter:
            raise
        return start_keeper(folder, [])  # no manager of this user's is running


class KeeperSilentError(AgentError):
    """The keeper ended without a report."""


def start_keeper(folder: str, shelter: "list[str]") -> "dict[str, Any]":
    """Runs this very program in keep mode, detached, and passes on what it reports.

    `shelter` are the words that start a program where a logout does not end it.
    """
    import subprocess

    source = globals()["SOURCE"]
    process = subprocess.Popen(
        shelter + own_command(["keep", folder]),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd="/",
        start_new_session=True,
    )
    assert process.stdin is not None  # noqa: S101 - both are pipes
    assert process.stdout is not None  # noqa: S101 - both are pipes
    try:
        try:
            write_all(process.stdin.fileno(), source)
            process.stdin.close()
        except BrokenPipeError:
            pass  # it ended, and the report is empty
        report = process.stdout.read()
    finally:
        process.stdout.close()
        process.wait()
    try:
        answer = json.loads(report.decode("utf-8"))
    except ValueError:
        text = report.decode("utf-8", "replace")
        raise KeeperSilentError("fault", "the keeper did not start", text or None) from None
    if "error" in answer:
        raise AgentError("exec-failed", answer["error"], answer.get("evidence"))
    return dict(answer, folder=folder)

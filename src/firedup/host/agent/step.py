"""Starts a keeper through a program that stays with it, such as `srun`."""

import json
import os

from firedup.host.agent.logind import find_shelter
from firedup.host.agent.system import AgentError, write_all

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_WORDS_BYTES = 4096


def op_step(args: "dict[str, Any]", _work: "Any" = None) -> "dict[str, Any]":
    """step {argv}: runs `argv`, which brings this program to a keeper, and leaves it running.

    Result: the keeper's report, as that of launch; errors as there, or "fault" when there is no
    report.
    """
    import subprocess

    read, complain = os.pipe()
    os.set_blocking(complain, False)  # it is read once; later complaints are dropped
    shelter, _ = find_shelter()
    process = subprocess.Popen(
        shelter + args["argv"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=complain,
        cwd="/",
        start_new_session=True,
    )
    os.close(complain)
    assert process.stdin is not None  # noqa: S101 - both are pipes
    assert process.stdout is not None  # noqa: S101 - both are pipes
    try:
        try:
            write_all(process.stdin.fileno(), globals()["SOURCE"])
            process.stdin.close()
        except BrokenPipeError:
            pass  # it ended, and the report is empty
        report = process.stdout.readline()
        if not report.endswith(b"\n"):
            process.wait()
            words = os.read(read, _WORDS_BYTES).decode("utf-8", "replace").strip()
            raise AgentError("fault", "the keeper did not start", words or None)
    finally:
        process.stdout.close()
        os.close(read)
    answer = dict(json.loads(report.decode("utf-8")))
    if "error" in answer:
        raise AgentError("exec-failed", answer["error"], answer.get("evidence"))
    return answer

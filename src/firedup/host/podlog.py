"""The log of a container in a pod of Kubernetes, and what the cluster says about it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from firedup.core.error import UsageError
from firedup.host.base import LinkError, Trouble
from firedup.host.containerlog import write_time
from firedup.host.kubernetes import Pod
from firedup.host.link import Agent
from firedup.host.pour import ask_client
from firedup.host.stamp import Cursor, Decoder, StampedLines, read_stamp
from firedup.host.standing import Standing, read_object, split_status, unreadable

# Only what is needed: the whole answer would hold the container's environment, and with that keys.
FORMAT = (
    'jsonpath={.status}{"\\n"}{.metadata.annotations.kubectl\\.kubernetes\\.io/default-container}'
    '{"\\n"}{range .spec.containers[*]}{.name}{"\\t"}{.image}{"\\t"}{.command}{"\\t"}{.args}{"\\n"}'
    "{end}"
)


@dataclass(frozen=True, slots=True)
class PodLog:
    """A container of `pod`: the one that it names, else the pod's default."""

    pod: Pod

    waiter = None
    merges = True

    @property
    def word(self) -> str:
        """As a user writes it."""
        return self.pod.word

    def argv(self, standing: Standing, cursor: Cursor, *, follows: bool) -> tuple[str, ...]:  # noqa: ARG002 - all log sources have this form
        """What prints the log of the container's present start, from `cursor` on."""
        since = (f"--since-time={write_time(cursor.since_ns)}",) if cursor.since_ns else ()
        inside = (f"--container={self.pod.container}",) if self.pod.container else ()
        where = (*inside, *self.pod.namespace_words, f"pod/{self.pod.name}")
        follow = ("--follow",) if follows else ()
        return ("kubectl", "logs", *follow, "--timestamps", *since, *where)

    def decoder(self) -> Decoder:
        """For what `argv` prints."""
        return StampedLines()

    async def look(self, agent: Agent) -> Standing:
        """What the cluster says.

        UsageError when there is no such pod, LinkError when the cluster cannot be asked.
        """
        where = (*self.pod.namespace_words, f"pod/{self.pod.name}")
        todo = f"Name the host from which you use it: --host box {self.word}"
        get = ("kubectl", "get", *where, f"--output={FORMAT}")
        output = await ask_client(agent, get, todo=todo)
        if output.code != 0:
            raise self._explain(output.words, agent.host.name)
        return read_pod(output.out.decode("utf-8", "replace"), self.pod)

    def _explain(self, words: str, host: str) -> UsageError | LinkError:
        trouble, todo = self.pod.explain(1, words) or (Trouble.OTHER, "Try: kubectl get pods")
        if trouble is Trouble.NO_PLACE:
            return UsageError(f"there is no pod {self.word} for {host}", evidence=words, todo=todo)
        return LinkError(
            trouble, f"kubectl on {host} does not tell about {self.word}", evidence=words, todo=todo
        )


def read_pod(told: str, pod: Pod) -> Standing:
    """What `kubectl get` told in `FORMAT` about one container of a pod.

    UsageError when the pod has no container of the name that `pod` gives, LinkError when what was
    told cannot be read.
    """
    first, default, *lines = [*told.split("\n"), ""]
    status = read_object(first or ("{}" if any(lines) else ""), pod.word)
    specs = {name: rest for name, *rest in (line.split("\t") for line in lines if line)}
    name = pod.container or default or next(iter(specs), "")
    if name not in specs:
        raise UsageError(
            f"the pod {pod.name} has no container {name}",
            todo=f"Its containers: {', '.join(specs)}",
        )
    image, command, args = (*specs[name], "", "", "")[:3]
    try:
        words = [*json.loads(command or "[]"), *json.loads(args or "[]")]
    except (ValueError, TypeError) as error:
        raise unreadable(f"{command} {args}", pod.word) from error
    all_states = [*(status.get("containerStatuses") or ())]
    own: Mapping[str, Any] = next((one for one in all_states if one.get("name") == name), {})
    state = own.get("state") or {}
    ended = state.get("terminated") or (
        (own.get("lastState") or {}).get("terminated") if "running" not in state else None
    )
    running, waiting = state.get("running"), state.get("waiting")
    restarts = int(own.get("restartCount") or 0)
    code, signal = split_status(int(ended.get("exitCode") or 0)) if ended else (None, None)
    begun = running or ended or {}
    return Standing(
        start=f"{own.get('containerID') or restarts} {begun.get('startedAt', '')}",
        is_running=running is not None,
        is_waiting=running is None and ended is None,
        words=_tell(status, waiting, ended),
        code=code,
        signal=signal,
        oom_killed=ended.get("reason") == "OOMKilled" if ended else None,
        started_wall_ns=read_stamp(str(begun.get("startedAt") or "")),
        finished_wall_ns=read_stamp(str(ended.get("finishedAt") or "")) if ended else None,
        argv=tuple(str(word) for word in words),
        image=image,
        restarts=restarts,
        address=status.get("podIP"),
    )


def _tell(
    status: Mapping[str, Any], waiting: Mapping[str, Any] | None, ended: Mapping[str, Any] | None
) -> str:
    """The state in the cluster's words: "ImagePullBackOff: Back-off pulling image …"."""
    for part in (waiting, ended):
        if part and part.get("reason"):
            message = f": {part['message']}" if part.get("message") else ""
            return f"{part['reason']}{message}"
    for condition in status.get("conditions") or ():
        if condition.get("status") == "False" and condition.get("reason") == "Unschedulable":
            return f"Unschedulable: {condition.get('message', '')}"
    return str(status.get("phase") or "")

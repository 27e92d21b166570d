"""What a container engine tells of a container: its command and variables, and why it ended."""

import json
import os
import signal

from firedup.host.agent.memory import host_oom_kills

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_ASK_S = 10.0
_GONE_S = 2.0  # so long a killed client may take to be gone
_MOST_KNOWN = 64
_ID_CHARS = 64
# By client and full id: neither command nor variables of one ever change. A name is used again.
_KNOWN = {}  # type: dict[tuple[str, ...], tuple[list[str], dict[str, str]]]


def ask_engine(
    client: "list[str]",
    words: "list[str]",
    env: "dict[bytes, bytes] | None" = None,
    limit_s: "float | None" = None,
) -> "tuple[int, str]":
    """(exit status, what it printed) of a short command of the client.

    The status is 255 where there is no client or it does not answer in time.
    """
    import subprocess

    raw = [word.encode("utf-8", "surrogateescape") for word in (*client, *words)]
    nothing, pipe = subprocess.DEVNULL, subprocess.PIPE
    try:
        process = subprocess.Popen(
            raw, env=env, stdin=nothing, stdout=pipe, stderr=nothing, start_new_session=True
        )
    except OSError:
        return 255, ""
    try:
        out, _ = process.communicate(timeout=limit_s)
    except subprocess.TimeoutExpired:
        drop(process)
        return 255, ""
    return process.returncode, out.decode("utf-8", "replace").strip()


def drop(process: "Any") -> None:
    """Kills a client that is asked in vain, with its group if it leads one.

    What it has started may hold its pipe for long; nobody reads that any more.
    """
    import subprocess

    try:
        os.killpg(process.pid, signal.SIGKILL)
    except OSError:  # it leads none
        process.kill()
    process.stdout.close()
    try:
        process.wait(timeout=_GONE_S)
    except subprocess.TimeoutExpired:
        pass


def read_started_with(
    client: "list[str]", name: str, env: "dict[str, str] | None" = None
) -> "tuple[list[str], dict[str, str]]":
    """Command and variables of a container, by whatever way it got them; they stay on this host.

    `env`: variables that its client needs besides the agent's own. Empty where it cannot be asked.
    """
    place = (*client, name)
    if place in _KNOWN:
        return _KNOWN[place]
    whole = dict(os.environb)
    whole.update({os.fsencode(key): os.fsencode(value) for key, value in (env or {}).items()})
    form = "[{{json .Path}},{{json .Args}},{{json .Config.Env}}]"
    words = ["container", "inspect", "--format", form, "--", name]
    status, out = ask_engine(client, words, whole, _ASK_S)
    try:
        path, args, pairs = json.loads(out) if status == 0 else ("", [], [])
    except ValueError:
        return [], {}
    if status != 0:
        return [], {}
    told = dict(pair.partition("=")[::2] for pair in pairs or ())
    found = ([path, *(args or ())], told)
    if len(name) == _ID_CHARS and not set(name) - set("0123456789abcdef"):
        if len(_KNOWN) >= _MOST_KNOWN:
            _KNOWN.clear()
        _KNOWN[place] = found
    return found


class Reason:
    """Whether memory was the reason for the end of a container; made before it begins."""

    def __init__(self, client: "list[str]", env: "dict[bytes, bytes]") -> None:
        self._client, self._env = client, env
        self._kills = host_oom_kills()

    def was_memory(
        self, state: "dict[str, Any] | None", facts: "dict[str, Any]", now: str
    ) -> "bool | None":
        """By `state`, the engine's last word; None is of one that was removed at its end (--rm).

        Of that one the engine remembers events, and the kernel's count over the whole host says no
        where it stood still. `facts` are those of container.json. None when neither tells.
        """
        if state is not None:
            return bool(state.get("OOMKilled"))
        told = self._recall(facts, now) if facts.get("id") and facts.get("started") else None
        if told is None and facts.get("pid") and self._kills is not None:
            return False if host_oom_kills() == self._kills else None
        return told

    def _recall(self, facts: "dict[str, Any]", now: str) -> "bool | None":
        wanted = ["container=" + facts["id"], "event=oom", "event=die"]
        filters = [word for one in wanted for word in ("--filter", one)]
        span = ["--since", facts["started"], "--until", now]
        words = ["events", *span, *filters, "--format", "{{json .}}"]
        status, out = ask_engine(self._client, words, self._env, _ASK_S)
        return read_events(out) if status == 0 else None


def read_events(text: str) -> "bool | None":
    """Whether what `events` printed has one of lacking memory; None when not even the end is in it.

    An engine keeps its last 256 events only. Podman has none of memory at all.
    """
    actions = []
    for row in text.splitlines():
        try:
            told = json.loads(row)
        except ValueError:
            continue
        actions.append(told.get("Action") or told.get("status"))
    if "oom" in actions:
        return True
    return False if "die" in actions else None

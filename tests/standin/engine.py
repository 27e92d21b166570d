"""A container engine for tests: containers are local processes, their state lies in a folder.

It stands in for Docker and Podman as far as firedup uses them: the same words and options, the
same messages and exit statuses, logs with times, detached containers that outlive the client. What
it does not do: images (any name will do but those that begin with "nosuch"), file systems, networks
(a published port is passed on by a process named docker-proxy, as Docker does it).
"""

import json
import os
import re
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(os.environ.get("STANDIN_FOLDER", "/nonexistent"))
RUNNING, EXITED = "running", "exited"
NEVER = "0001-01-01T00:00:00Z"


def write_stamp(ns: int) -> str:
    second, rest = divmod(ns, 10**9)
    return f"{datetime.fromtimestamp(second, UTC):%Y-%m-%dT%H:%M:%S}.{rest:09}Z"


def read_stamp(text: str) -> int:
    head, _, rest = text.rstrip("Z").partition(".")
    second = datetime.strptime(head, "%Y-%m-%dT%H:%M:%S").replace(tzinfo=UTC)
    return round(second.timestamp()) * 10**9 + int((rest or "0").ljust(9, "0")[:9])


class Fault(Exception):  # noqa: N818 - it is what the client says
    """A message for stderr and an exit status."""

    def __init__(self, text: str, status: int = 1) -> None:
        super().__init__(text)
        self.text, self.status = text, status


class Container:
    """A container: its folder holds state.json and log.jsonl."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def state(self) -> dict:
        return json.loads((self.folder / "state.json").read_text())

    def change(self, **values: object) -> None:
        state = {**self.state, **values} if (self.folder / "state.json").exists() else values
        new = self.folder / f"state.{os.getpid()}"
        new.write_text(json.dumps(state))
        new.replace(self.folder / "state.json")

    @property
    def is_running(self) -> bool:
        return self.state["status"] == RUNNING

    def entries(self, begin: int) -> tuple[list[dict], int]:
        """Log entries from byte `begin` on, and where to go on."""
        with (self.folder / "log.jsonl").open("rb") as file:
            file.seek(begin)
            data = file.read()
        whole = data[: data.rfind(b"\n") + 1]
        return [json.loads(line) for line in whole.splitlines()], begin + len(whole)


def containers() -> list[Container]:
    return [Container(p.parent) for p in sorted(ROOT.glob("containers/*/state.json"))]


def find(name: str) -> Container:
    for one in containers():
        if name in (one.state["name"], one.folder.name) or (
            len(name) >= 6 and one.folder.name.startswith(name)
        ):
            return one
    raise Fault(f"Error response from daemon: No such container: {name}")


# ---- the life of a container


def create(name: str, argv: list[str], **facts: object) -> Container:
    folder = ROOT / "containers" / os.urandom(32).hex()
    folder.mkdir(parents=True)
    (folder / "log.jsonl").touch()
    made = Container(folder)
    made.change(
        name=name or f"quirky_{folder.name[:6]}", argv=argv, status="created", pid=0, code=0,
        oom=False, error="", started=NEVER, finished=NEVER, restarts=0, **facts,
    )  # fmt: skip
    return made


def start(one: Container) -> None:
    """Starts the container's process beside a shim, and returns when it runs or cannot."""
    read, write = os.pipe()
    if os.fork() == 0:
        os.setsid()
        os.close(read)
        null = os.open(os.devnull, os.O_RDWR)
        for number in (0, 1, 2):
            os.dup2(null, number)
        if os.fork() == 0:
            try:
                shim(one, write)
            finally:
                os._exit(0)
        os._exit(0)
    os.close(write)
    os.wait()
    said = os.read(read, 4096).decode()
    os.close(read)
    if said:
        raise Fault(said, 127)


def shim(one: Container, report: int) -> None:
    state = one.state
    env = {**os.environ, **dict(state["env"]), "container": "standin"}
    out, err = os.pipe(), os.pipe()
    try:
        process = subprocess.Popen(
            state["argv"], stdin=subprocess.DEVNULL, stdout=out[1], stderr=err[1], env=env,
            start_new_session=True, pass_fds=(),
        )  # fmt: skip
    except OSError:
        one.change(status="created", code=127)
        text = (
            "docker: Error response from daemon: failed to create task for container: failed to "
            "create shim task: OCI runtime create failed: runc create failed: unable to start "
            f'container process: error during container init: exec: "{state["argv"][0]}": '
            "executable file not found in $PATH: unknown"
        )
        os.write(report, text.encode())
        return
    os.close(out[1])
    os.close(err[1])
    one.change(
        status=RUNNING, pid=process.pid, started=write_stamp(time.time_ns()), code=0, finished=NEVER
    )
    proxies = [
        subprocess.Popen([sys.executable, __file__, "proxy", address, str(outside), str(inside)])
        for address, outside, inside in state["ports"]
    ]
    os.close(report)
    with (one.folder / "log.jsonl").open("ab", buffering=0) as log:
        copy_lines({out[0]: "stdout", err[0]: "stderr"}, log)
    status = process.wait()
    for proxy in proxies:
        proxy.kill()
    code = 128 - status if status < 0 else status
    oom = (one.folder / "oom").exists()
    for action in ("oom", "die") if oom else ("die",):
        note_event(one, action)
    one.change(status=EXITED, pid=0, code=code, oom=oom, finished=write_stamp(time.time_ns()))
    policy = state.get("restart") or "no"
    if code and policy.startswith(("always", "on-failure")) and not (one.folder / "stop").exists():
        one.change(restarts=state["restarts"] + 1)
        start(one)
    elif state["removes"]:
        wait_for_readers(one)
        import shutil

        shutil.rmtree(one.folder)


def note_event(one: Container, action: str) -> None:
    at_ns = time.time_ns()
    event = {
        "status": action, "id": one.folder.name, "from": one.state["image"], "Type": "container",
        "Action": action, "Actor": {"ID": one.folder.name, "Attributes": {}}, "scope": "local",
        "time": at_ns // 10**9, "timeNano": at_ns,
    }  # fmt: skip
    with (ROOT / "events.jsonl").open("a") as file:
        file.write(json.dumps(event) + "\n")


def print_events(since: str, until: str, filters: list[str], *, is_podman: bool) -> None:
    """Past events alone, of one container and of some kinds; Podman tells none of memory."""
    pairs = [text.split("=", 1) for text in filters]
    names = [value for key, value in pairs if key == "container"]
    kinds = [value for key, value in pairs if key == "event"]
    path = ROOT / "events.jsonl"
    for row in path.read_text().splitlines() if path.exists() else ():
        event = json.loads(row)
        if not read_stamp(since) <= event["timeNano"] <= read_stamp(until):
            continue
        if event["id"] not in names or event["Action"] not in kinds:
            continue
        if not is_podman:
            sys.stdout.write(f"{row}\n")


def wait_for_readers(one: Container) -> None:
    """An attached client and `wait` learn the status before the container is removed."""
    until = time.monotonic() + 5
    while list(one.folder.glob("reader.*")) and time.monotonic() < until:
        time.sleep(0.02)


def copy_lines(pipes: dict[int, str], log: object) -> None:
    """Each line, or each 16 KiB of a longer one, becomes an entry with its time."""
    import select

    rest = dict.fromkeys(pipes, b"")
    while rest:
        for pipe in select.select(list(rest), [], [])[0]:
            data = os.read(pipe, 65536)
            pending = rest[pipe] + data
            while pending:
                end = pending.find(b"\n")
                size = end + 1 if 0 <= end < 16384 else min(len(pending), 16384)
                if end < 0 and len(pending) < 16384 and data:
                    break
                piece, pending = pending[:size], pending[size:]
                entry = {
                    "at": time.time_ns(), "stream": pipes[pipe], "text": piece.decode("latin-1"),
                }  # fmt: skip
                log.write(json.dumps(entry).encode() + b"\n")  # type: ignore[attr-defined]
            rest[pipe] = pending
            if not data:
                del rest[pipe]


def proxy(address: str, outside: int, inside: int) -> None:
    import socket
    import threading

    Path("/proc/self/comm").write_text("docker-proxy")
    server = socket.create_server((address, outside))

    def pump(source: socket.socket, target: socket.socket) -> None:
        try:
            while data := source.recv(65536):
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)
        except OSError:
            source.close()
            target.close()

    while True:
        one, _ = server.accept()
        try:
            other = socket.create_connection(("127.0.0.1", inside))
        except OSError:
            one.close()
            continue
        for pair in ((one, other), (other, one)):
            threading.Thread(target=pump, args=pair, daemon=True).start()


# ---- what clients ask


def print_log(one: Container, *, follow: bool, since: str = "", stamps: bool = False) -> None:
    begin_ns = read_stamp(since) if since else 0
    place = 0
    while True:
        was_running = one.is_running
        entries, place = one.entries(place)
        for entry in entries:
            if entry["at"] < begin_ns:
                continue
            head = f"{write_stamp(entry['at'])} ".encode() if stamps else b""
            out = sys.stderr if entry["stream"] == "stderr" else sys.stdout
            out.buffer.write(head + entry["text"].encode("latin-1"))
        sys.stdout.buffer.flush()
        sys.stderr.buffer.flush()
        if not follow or not (was_running or entries):
            return
        time.sleep(0.01)


def inspect(one: Container, template: str) -> str:
    """Fills in `{{json .A.B}}`, the only kind of action that is used."""
    state = one.state
    ports: dict[str, list] = {}
    for address, outside, inside in state["ports"]:
        binding = {"HostIp": address, "HostPort": str(outside)}
        ports.setdefault(f"{inside}/tcp", []).append(binding)
    whole = {
        "Id": one.folder.name,
        "Name": f"/{state['name']}",
        "Path": state["argv"][0],
        "Args": state["argv"][1:],
        "RestartCount": state["restarts"],
        "Config": {"Image": state["image"], "Env": [f"{k}={v}" for k, v in state["env"]]},
        "HostConfig": {"NetworkMode": state["network"]},
        "NetworkSettings": {"Ports": ports, "IPAddress": "", "Networks": {"bridge": {}}},
        "State": {
            "Status": state["status"], "Running": state["status"] == RUNNING, "Pid": state["pid"],
            "ExitCode": state["code"], "OOMKilled": state["oom"], "Error": state["error"],
            "StartedAt": state["started"], "FinishedAt": state["finished"],
        },
    }  # fmt: skip

    def fill(found: re.Match) -> str:
        value: object = whole
        for part in found[1].strip(".").split("."):
            value = value[part]  # type: ignore[index]
        return json.dumps(value)

    return re.sub(r"\{\{json (\.[\w.]+)\}\}", fill, template)


def stop(one: Container, grace_s: float) -> None:
    (one.folder / "stop").touch()
    pid = one.state["pid"]
    if not pid:
        return
    os.kill(pid, signal.SIGTERM)
    until = time.monotonic() + grace_s
    while one.folder.exists() and is_running(one):
        if time.monotonic() > until:
            os.killpg(pid, signal.SIGKILL)
            until = float("inf")
        time.sleep(0.02)


def is_running(one: Container) -> bool:
    try:
        return one.is_running
    except OSError:  # it has been removed
        return False


def wait(one: Container) -> int:
    reader = one.folder / f"reader.{os.getpid()}"
    reader.touch()
    while one.is_running:
        time.sleep(0.01)
    code = one.state["code"]
    reader.unlink()
    return code


if __name__ == "__main__" and sys.argv[1] == "proxy":
    proxy(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))

"""Secrets planted wherever a server can have them come out of no command."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from typing_user import Said, User

from firedup.cli import fault
from firedup.core.error import FiredupError

# One for each place, so that a leak tells which; none has a form that is known for a key's.
ARGUMENT, VARIABLE, FROM_FILE, IN_LOG = "quercus17", "fagus23", "betula31", "salix47"
IN_URL = "populus53"
SECRETS = (ARGUMENT, VARIABLE, FROM_FILE, IN_LOG, IN_URL)
SERVER = f"""
import os, sys, time
print("server_args=ServerArgs(api_key='{IN_LOG}', port=1)", flush=True)
print("INFO: Authorization: Bearer {IN_LOG}, HF_TOKEN={IN_LOG}", flush=True)
print("[2026-11-29 18:00:01] Scheduler hit an exception: Traceback (most recent call last):")
print('  File "/opt/model_runner.py", line 1, in load')
print("RuntimeError: no access to https://u:{IN_LOG}@hub/x?token={IN_LOG} api_key='{IN_LOG}'")
print("HF_TOKEN=" + os.environ["HF_TOKEN"], "PASSWORD=" + os.environ["DB_PASSWORD"], flush=True)
sys.exit(1)
"""


@dataclass
class Listener:
    """Takes what is posted to `url`."""

    told: list[str] = field(default_factory=list)
    port: int = 0

    @property
    def url(self) -> str:
        return f"http://u:{IN_URL}@127.0.0.1:{self.port}/hook?token={IN_URL}"


@pytest.fixture
def listener() -> Iterator[Listener]:
    heard = Listener()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            heard.told.append(self.rfile.read(int(self.headers["Content-Length"])).decode())
            self.send_response(204)
            self.end_headers()

        def log_message(self, *words: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    heard.port = server.server_port
    thread = Thread(target=server.serve_forever)
    thread.start()
    yield heard
    server.shutdown()
    thread.join()
    server.server_close()


def leaks(text: str) -> list[str]:
    """The planted secrets in it, each with what stands around it."""
    found = []
    for secret in SECRETS:
        at = text.find(secret)
        if at >= 0:
            found.append(text[max(0, at - 60) : at + 30])
    return found


def launch(user: User, *options: str) -> Said:
    """Run the server with a secret in each place, to its end."""
    program = user.program(SERVER)
    keys = user.folder / "keys.env"
    keys.write_text(f"HF_TOKEN={FROM_FILE}\n")
    given = ("--env", f"DB_PASSWORD={VARIABLE}", "--env-file", str(keys))
    command = (program, "serve", "--model-path", "org/model", "--api-key", ARGUMENT)
    words = ("--name", "planted", "--until", "exit", "--force", *given, *options)
    return user.type("run", *words, "--", *command)


def test_no_command_says_a_secret(user: User) -> None:
    said = {"run": launch(user)}
    run_id = next(Path(os.environ["XDG_STATE_HOME"]).glob("firedup/runs/*")).name
    log = next(Path(os.environ["XDG_STATE_HOME"]).glob("firedup/runs/*/server.log"))
    said["attach"] = user.type("attach", "--until", "exit", "planted")
    said["attach json"] = user.type("attach", "--json", "--until", "exit", "planted")
    said["attach classic"] = user.type(
        "attach", "--format", "classic", "--tail", "30", "--until", "exit", "planted"
    )
    said["attach terminal"] = user.type_on_terminal("attach", "--until", "exit", "planted")
    said["ps"] = user.type("ps", "--all")
    said["ps json"] = user.type("ps", "--all", "--json")
    said["logs terminal"] = user.type_on_terminal("logs", "planted")
    said["explain"] = user.type("explain", str(log))
    said["explain around"] = user.type("explain", "--context", "9", "--tail", "20", str(log))
    said["explain json"] = user.type("explain", "--json", "--tail", "20", str(log))
    changed = ("--api-key", f"{ARGUMENT}new", f"HF_TOKEN={VARIABLE}new")
    said["restart"] = user.type("restart", "--until", "exit", "--force", "planted", "--", *changed)

    assert said["run"].status == 1
    assert {name: leaks(one.all) for name, one in said.items() if leaks(one.all)} == {}
    assert all(one.all.strip() for one in said.values())
    # What is the user's own, on the host, stays whole.
    assert IN_LOG in user.type("logs", run_id).out
    assert ARGUMENT in (log.parent / "manifest.json").read_text()


def test_json_of_a_run_says_no_secret(user: User) -> None:
    done = launch(user, "--json")

    assert json.loads(done.out.splitlines()[-1])["verdict"] == "crashed"
    assert leaks(done.all) == []


def test_hooks_are_told_no_secret(user: User, listener: Listener) -> None:
    seen = user.folder / "seen"
    hook = f"env | grep ^FIREDUP_ > {seen}.new; mv {seen}.new {seen}"

    launch(user, "--notify", listener.url, "--on", "crashed", hook, "--on", "exited", "false")
    runs = Path(os.environ["XDG_STATE_HOME"]) / "firedup/runs"
    wait = f"while test ! -e {seen} || ! ls {runs}/*/hook-exited.json; do sleep 0.1; done"
    subprocess.run(["/bin/sh", "-c", wait], timeout=60, check=True, capture_output=True)

    assert leaks(seen.read_text()) == []
    written = [*runs.glob("*/hook-*.json"), *runs.glob("*/hooks.log")]
    kept = {path.name: leaks(path.read_text()) for path in written}
    assert {name for name in kept if name.startswith("hook-")} >= {"hook-crashed.json"}
    assert {name: found for name, found in kept.items() if found} == {}
    assert listener.told
    assert leaks("".join(listener.told)) == []


@pytest.mark.parametrize(
    "words",
    [
        ("run", "--env", f"NO-NAME API_KEY={VARIABLE}", "--", "true"),
        ("run", "--", "no-such-program", "--api-key", ARGUMENT),
        ("run", "--no-such-option", f"--api-key={ARGUMENT}"),
        ("run", "--notify", f"ftp://u:{IN_URL}@host/?token={IN_URL}", "--", "true"),
        ("run", "--cwd", f"/nowhere?token={IN_URL}", "--", "true"),
        ("attach", f"api_key={VARIABLE}"),
        ("explain", f"/nowhere/https://u:{IN_URL}@host/x"),
        ("watch", "--host", f"ssh:u:password={VARIABLE}", "/x"),
    ],
    ids=["variable", "program", "option", "address", "folder", "run", "log", "host"],
)
def test_complaints_name_no_secret(user: User, words: tuple[str, ...]) -> None:
    done = user.type(*words)

    assert done.status in (1, 2, 3), done.all
    assert done.err.strip()
    assert leaks(done.all) == []


def test_the_file_of_a_fault_holds_no_secret(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    words = ["firedup", "run", "--", "serve", "--api-key", ARGUMENT, f"HF_TOKEN={VARIABLE}"]
    monkeypatch.setattr(sys, "argv", words)
    try:
        raise FiredupError("broken", evidence=f"HF_TOKEN={FROM_FILE} https://u:{IN_URL}@host")
    except FiredupError as error:
        said = fault.report_fault(error, {"XDG_STATE_HOME": str(tmp_path)})

    (written,) = (tmp_path / "firedup/faults").iterdir()
    assert "Traceback" in written.read_text()
    assert leaks(said + written.read_text()) == []
    assert written.stat().st_mode & 0o077 == 0

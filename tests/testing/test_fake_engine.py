"""The fake engine as a real process, and beside it the real recordings that it stands for."""

import json
import os
import select
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from leftover import ending

from firedup.testing.program import make_module, make_program
from firedup.testing.recorded import load_recorded
from firedup.testing.script import (
    End,
    Http,
    Kill,
    Piece,
    Rotation,
    Script,
    Speculation,
    Stop,
    line,
    render_script,
)

Start = Callable[..., subprocess.Popen[bytes]]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Start a script as a process; whatever is still alive at the end is killed."""
    started = []

    def begin(script: Script, *command: str) -> subprocess.Popen[bytes]:
        file = tmp_path / "script.json"
        file.write_text(render_script(script))
        argv = [sys.executable, "-m", "firedup.testing.engine", "--script", str(file), "--"]
        process = subprocess.Popen(
            [*argv, *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0
        )
        started.append(process)
        return process

    yield begin
    for process in started:
        process.kill()
        process.communicate()


def read_until(process: subprocess.Popen[bytes], text: bytes) -> bytes:
    assert process.stderr is not None
    seen = b""
    while text not in seen:
        got = process.stderr.read(4096)
        assert got, f"ended before {text!r}: {seen!r}"
        seen += got
    return seen


def ask(port: int, path: str, body: dict[str, object] | None = None) -> tuple[int, bytes]:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", data)
    try:
        with urllib.request.urlopen(request, timeout=100) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as refusal:
        with refusal:
            return refusal.code, refusal.read()


def open_port(process: subprocess.Popen[bytes]) -> int:
    return int(read_until(process, b"\n").split(b"port ")[1].split()[0])


def test_the_log_is_written_letter_for_letter_to_its_two_streams(start):
    bar = b"\rloading:  50%|##  | 1/2\rloading: 100%|####| 2/2\xff\n"
    script = Script((Piece(0, bar), line(0.01, "INFO: GET /health", "stdout")), end=End(0.02, 3))

    out, err = (process := start(script)).communicate()

    assert (out, err) == (b"INFO: GET /health\n", bar)
    assert process.returncode == 3


def test_the_engine_can_end_by_a_signal(start):
    process = start(Script((line(0, "loading"),), end=End(0.01, signal=signal.SIGSEGV)))

    process.communicate()

    assert process.returncode == -signal.SIGSEGV


def test_sigterm_brings_the_last_words_and_the_code(start):
    process = start(Script((line(0, "up"),), stop=Stop((line(0, "Gracefully exiting"),), 7)))
    read_until(process, b"up\n")

    process.terminate()
    _, err = process.communicate()

    assert (err, process.returncode) == (b"Gracefully exiting\n", 7)


def test_sigterm_can_be_ignored(start):
    script = Script((line(0, "up"),), end=End(60, 5), stop=Stop(is_ignored=True), speed=100)
    process = start(script)
    read_until(process, b"up\n")

    process.terminate()
    process.communicate()

    assert process.returncode == 5


def test_a_block_buffer_holds_back_until_it_is_full_and_loses_the_rest_when_killed(start):
    script = Script((line(0, "a" * 9), line(0, "b" * 9)), end=End(0.05, signal=9), buffer_bytes=16)

    _, err = start(script).communicate()

    assert err == b"aaaaaaaaa\nbbbbbb"


def test_before_its_time_the_health_route_says_503_and_no_token_comes(start):
    http = Http(health=((0.0, 503), (3600.0, 200)))
    port = open_port(start(Script((line(0, "port @PORT@ open"),), http)))

    assert ask(port, "/health")[0] == 503
    assert ask(port, "/v1/completions", {})[0] == 503


def test_from_its_time_on_the_health_route_says_200_and_a_token_comes(start):
    http = Http(health=((0.0, 503), (0.01, 200)), text=" fox")
    port = open_port(start(Script((line(0.02, "port @PORT@ open"),), http)))

    _, answer = ask(port, "/v1/completions", {"prompt": "the", "max_tokens": 1})

    assert ask(port, "/health")[0] == 200
    assert json.loads(answer)["choices"][0]["text"] == " fox"
    assert json.loads(answer)["usage"]["completion_tokens"] == 1


@pytest.mark.parametrize(
    ("dialect", "expected"),
    [
        ("vllm", b'vllm:spec_decode_num_drafts_total{engine="0",model_name="fake"} 40'),
        ("llama-cpp", b"llamacpp:spec_decode_num_accepted_tokens_total 60"),
        ("sglang", b"sglang:spec_accept_length 2.5"),
    ],
)
def test_the_counters_have_exactly_the_scripted_acceptance(start, dialect, expected):
    http = Http(speculation=Speculation(dialect, length=2.5, proposed=3))
    port = open_port(start(Script((line(0, "port @PORT@ open"),), http)))

    ask(port, "/generate", {"text": "a", "sampling_params": {"max_new_tokens": 100}})
    _, metrics = ask(port, "/metrics")

    assert expected in metrics


def test_the_port_is_the_one_that_the_command_names_and_a_busy_one_is_said(start):
    with socket.create_server(("127.0.0.1", 0)) as holder:
        port = str(holder.getsockname()[1])
        process = start(Script(http=Http()), "--port", port)
        _, err = process.communicate()

    assert b"[Errno 98] error while attempting to bind on address" in err
    assert port.encode() in err
    assert process.returncode == 1


def test_an_engine_may_call_itself_ready_on_a_port_that_is_not_its_own(start):
    with socket.create_server(("127.0.0.1", 0)) as holder:
        script = Script((line(0.01, "fired up"),), Http(on_busy="go-on"), End(0.02, 3))
        process = start(script, f"--port={holder.getsockname()[1]}")
        _, err = process.communicate()

    assert err.index(b"Errno 98") < err.index(b"fired up")
    assert process.returncode == 3


def test_a_silent_server_accepts_and_never_answers(start):
    port = open_port(start(Script((line(0, "port @PORT@ open"),), Http(is_silent=True))))

    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(b"GET /health HTTP/1.0\r\n\r\n")
        connection.settimeout(0.2)

        with pytest.raises(TimeoutError):
            connection.recv(1)


def children_of(process: subprocess.Popen[bytes]) -> list[int]:
    path = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    return [int(pid) for pid in path.read_text().split()]


def has_ended(pidfd: int, limit_s: float) -> bool:
    return bool(select.select([pidfd], [], [], limit_s)[0])


def test_workers_are_children_with_their_names_and_one_can_die(start):
    names = ("sglang::sched_0", "sglang::sched_1")
    script = Script((line(0, "up"),), children=names, kills=(Kill(0.01, 1),))
    process = start(script)
    read_until(process, b"up")
    children = children_of(process)
    pidfds = [os.pidfd_open(pid) for pid in children]

    assert [Path(f"/proc/{pid}/comm").read_text().strip() for pid in children] == list(names)
    assert has_ended(pidfds[1], 8.0)
    assert not has_ended(pidfds[0], 0.0)
    for pidfd in pidfds:
        os.close(pidfd)


@pytest.mark.parametrize(("survive", "limit_s"), [(False, 8.0), (True, 0.2)])
def test_workers_end_with_the_engine_unless_they_are_to_survive(start, survive, limit_s):
    script = Script((line(0, "up"),), children=("worker",), do_children_survive=survive)
    process = start(script)
    read_until(process, b"up")
    pidfd = os.pidfd_open(children_of(process)[0])

    process.kill()
    process.wait()

    assert has_ended(pidfd, limit_s) is not survive
    if survive:
        signal.pidfd_send_signal(pidfd, signal.SIGKILL)
    os.close(pidfd)


@pytest.mark.parametrize(("mode", "rest"), [("rename", b"new\n"), ("truncate", b"new\n")])
def test_the_log_is_rotated_as_rotators_do(start, tmp_path, mode, rest):
    log = tmp_path / "server.log"
    script = Script(
        (line(0, "old"), line(0.02, "new")),
        end=End(0.03),
        log=str(log),
        rotations=(Rotation(0.01, mode),),
    )

    start(script).communicate()

    assert log.read_bytes() == rest
    assert (tmp_path / "server.log.1").read_bytes() == b"old\n"


def test_silent_work_burns_cpu(start):
    script = Script((line(0, "begin"), line(0.5, "end")), work=((0.0, 0.5),))
    process = start(script)
    stat = Path(f"/proc/{process.pid}/stat")
    read_until(process, b"begin")
    before = int(stat.read_text().split()[13])  # ticks of user time
    read_until(process, b"end")
    after = int(stat.read_text().split()[13])

    assert after > before


def test_a_program_looks_like_an_installed_console_script(tmp_path):
    program = make_program(tmp_path, "sglang", Script((line(0, "port @PORT@"),), Http()))
    command = [str(program), "serve", "--model-path", "m", "--port", "0"]
    with ending(subprocess.Popen(command, stderr=subprocess.PIPE, bufsize=0)) as process:
        port = read_until(process, b"\n").split()[-1]
        words = Path(f"/proc/{process.pid}/cmdline").read_bytes().split(b"\0")
        process.terminate()

    assert words[1:4] == [str(program).encode(), b"serve", b"--model-path"]
    assert int(port) > 0
    assert process.returncode == 0


def test_a_module_is_started_with_python_m(tmp_path):
    command = make_module(tmp_path, "sglang.launch_server", Script((line(0, "hi"),), end=End(0, 4)))
    environment = os.environ | {"PYTHONPATH": str(tmp_path)}

    done = subprocess.run(command, env=environment, capture_output=True, check=False)

    assert (done.stderr, done.returncode) == (b"hi\n", 4)


@pytest.fixture
def recorded_run(tmp_path: Path) -> Path:
    """A run in the form in which real ones are recorded: log, health, a signal, the exit."""
    rows = [
        {"cmd": ["sglang", "serve"], "pid": 1, "t": 0.0},
        {"t": 1.0, "b": "\rLoading:  50%"},
        {"t": 2.0, "b": "\rLoading: 100%\n"},
        {"t": 3.0, "b": "INFO:     Uvicorn running on http://127.0.0.1:30000\n"},
        {"health": 503, "body": "", "t": 3.5},
        {"t": 4.0, "b": "The server is fired up and ready to roll!\n"},
        {"health": 200, "body": "", "t": 4.5},
        {"send": 15, "t": 6.0},
        {"t": 6.5, "b": "SIGTERM received.\n"},
        {"exit": 0, "left": {}, "t": 8.0},
    ]
    path = tmp_path / "run.events.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_a_recorded_run_is_repeated_with_its_answers_and_its_stop(recorded_run):
    script = load_recorded(recorded_run)

    assert [piece.at_s for piece in script.pieces] == [1.0, 2.0, 3.0, 4.0]
    assert script.http == Http(open_s=3.0, health=((3.5, 503), (4.5, 200)))
    assert script.stop == Stop((Piece(0.5, b"SIGTERM received.\n"),), 0, after_s=2.0)
    assert script.end is None


def test_a_recording_is_played_by_the_program_at_the_asked_speed(recorded_run):
    argv = [sys.executable, "-m", "firedup.testing.engine", "--recording", str(recorded_run)]
    command = [*argv, "--speed", "50", "--", "--port", "0"]
    with ending(subprocess.Popen(command, stderr=subprocess.PIPE, bufsize=0)) as process:
        seen = read_until(process, b"ready to roll!\n")
        process.terminate()
        last, _ = process.stderr.read(), process.wait()

    assert seen.startswith(b"\rLoading:  50%\rLoading: 100%\n")
    assert last == b"SIGTERM received.\n"
    assert process.returncode == 0


def test_a_wrong_script_is_refused_with_its_place(tmp_path):
    file = tmp_path / "script.json"
    file.write_text('{"end": {"at_s": 1, "kode": 2}}')

    done = subprocess.run(
        [sys.executable, "-m", "firedup.testing.engine", "--script", str(file)],
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 2
    assert "end: " in done.stderr
    assert "kode" in done.stderr
    assert "Traceback" not in done.stderr

"""A stream that fails in its own time ends alone; the agent and its other streams go on."""

import subprocess
import sys
from typing import Any

import pytest

from firedup.host.agent.wire import FRAME_HEADER, REQUEST, encode_json

AGENT = """
from firedup.host.agent.serve import Loop
from firedup.host.agent.stream import Stream

class Faulty(Stream):
    def open(self):
        self.touches_files = self.args["touches_files"]
        self.is_ready = False
        self.due = 0.0

    def on_due(self):
        raise OSError(116, "Stale file handle")

def greet(args):
    return {"word": "hello"}

Loop(globals().get, {"greet": "greet"}, {}, {}, {"faulty": "Faulty"}).run()
"""


def ask(agent: "subprocess.Popen[bytes]", number: int, **request: Any) -> bytes:
    """The first frame that answers a request."""
    assert agent.stdin is not None
    assert agent.stdout is not None
    agent.stdin.write(encode_json(REQUEST, number, request))
    agent.stdin.flush()
    length, _, answered = FRAME_HEADER.unpack(agent.stdout.read(FRAME_HEADER.size))
    assert answered == number
    return agent.stdout.read(length)


@pytest.mark.parametrize("touches_files", [True, False])
def test_a_stream_that_fails_when_it_is_due_ends_alone(touches_files: bool) -> None:
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", AGENT], stdin=pipe, stdout=pipe) as agent:
        fault = ask(agent, 1, op="faulty", touches_files=touches_files)
        word = ask(agent, 2, op="greet")
        assert agent.stdin is not None
        agent.stdin.close()

    assert b"Stale file handle" in fault
    assert b"hello" in word
    assert agent.returncode == 0

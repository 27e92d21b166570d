"""The demo's engine: its refusals without the library, and the real server as a process."""

import importlib
import json
import os
import re
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec

import pytest

from firedup.demo import engine
from firedup.demo.model import (
    OTHER_VOCABULARY,
    TARGET,
    TRAINED,
    UNTRAINED,
    model_path,
    truncate_copy,
)
from firedup.demo.prompt import load_prompts

TARGET_FLAGS = ("-m", str(model_path(TARGET)), "-c", "1024", "-t", "1", "--port", "0")


def real_engine(test: Callable[..., None]) -> Callable[..., None]:
    """Mark a test that starts the real engine."""
    is_missing = find_spec("xllamacpp") is None
    skip = pytest.mark.skipif(is_missing, reason="the engine, firedup[demo], is not installed")
    return pytest.mark.engine(skip(test))


class Running:
    """A real engine process whose log is read line by line."""

    def __init__(self, *flags: str) -> None:
        self.process = subprocess.Popen(
            engine.engine_command(*flags), stderr=subprocess.PIPE, text=True, errors="replace"
        )
        self.log: list[str] = []

    def read_until(self, text: str) -> str:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.log.append(line)
            if text in line:
                return line
        raise AssertionError(f"the engine ended without saying {text!r}: {self.log}")

    def url(self) -> str:
        return self.read_until("listening on").split("listening on ")[1].strip()

    def end(self) -> int:
        _, rest = self.process.communicate(timeout=100)
        self.log += rest.splitlines(keepends=True)
        return self.process.returncode


@contextmanager
def running(*flags: str) -> Iterator[Running]:
    server = Running(*flags)
    try:
        yield server
    finally:
        server.process.kill()
        server.process.communicate()


def ask(url: str, body: dict[str, object] | None = None, key: str | None = None) -> bytes:
    data = None if body is None else json.dumps(body).encode()
    headers = {"Content-Type": "application/json"}
    if key:
        headers["Authorization"] = f"Bearer {key}"
    request = urllib.request.Request(url, data, headers)
    with urllib.request.urlopen(request, timeout=100) as answer:
        return bytes(answer.read())


def counters(url: str) -> dict[str, float]:
    text = ask(url + "/metrics").decode()
    return {k: float(v) for k, v in re.findall(r"^llamacpp:(\w+) ([\d.e+]+)$", text, re.MULTILINE)}


def recite(url: str, prompts: int) -> list[str]:
    texts = []
    for prompt in load_prompts()[:prompts]:
        body = {"prompt": prompt.text, "n_predict": 64, "temperature": 0, "ignore_eos": True}
        texts.append(json.loads(ask(url + "/completion", body))["content"])
    return texts


def mean_length(url: str) -> float:
    got = counters(url)
    accepted = got["spec_decode_num_accepted_tokens_total"]
    return 1 + accepted / got["spec_decode_num_drafts_total"]


def test_a_machine_without_the_library_is_told_what_to_install(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "xllamacpp", None)

    status = engine.main(["-m", "model.gguf"])

    assert status == 2
    assert "pip install 'firedup[demo]'" in capsys.readouterr().err


def test_a_missing_openmp_runtime_is_named_with_its_package(monkeypatch, capsys):
    def fail(name: str) -> None:
        raise ImportError("libgomp.so.1: cannot open shared object file")

    monkeypatch.setattr(importlib, "import_module", fail)

    status = engine.main(["-m", "model.gguf"])

    assert status == 2
    assert "apt-get install libgomp1" in capsys.readouterr().err


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="AVX2 is a matter of x86-64")
def test_a_cpu_without_avx2_is_refused_before_the_library_is_loaded(tmp_path):
    cpu_info = tmp_path / "cpuinfo"
    cpu_info.write_text("processor\t: 0\nflags\t\t: fpu sse sse2 avx\n")

    with pytest.raises(engine.EngineMissingError, match="AVX2"):
        engine.load_engine(cpu_info)


def test_an_unknown_flag_ends_as_llama_server_ends(capsys):
    status = engine.main(["--no-such-flag"])

    assert status == 1
    assert capsys.readouterr().err == "error: invalid argument: --no-such-flag\n"


@real_engine
def test_the_trained_drafter_is_accepted_and_sigterm_ends_cleanly():
    flags = ("-md", str(model_path(TRAINED)), "--spec-type", "draft-eagle3")
    with running(*TARGET_FLAGS, *flags) as server:
        url = server.url()
        health = json.loads(ask(url + "/health"))
        texts = recite(url, 3)
        length = mean_length(url)
        server.process.send_signal(signal.SIGTERM)
        status = server.end()

    assert health == {"status": "ok"}
    assert [text[:60] for text in texts] == [p.continuation for p in load_prompts()[:3]]
    assert 1.4 < length < 2.4
    assert status == 0
    assert any("cleaning up before exit" in line for line in server.log)
    assert not any("Traceback" in line for line in server.log)


@real_engine
def test_the_untrained_drafter_is_hardly_ever_accepted():
    flags = ("-md", str(model_path(UNTRAINED)), "--spec-type", "draft-eagle3")
    with running(*TARGET_FLAGS, *flags) as server:
        url = server.url()
        recite(url, 3)
        length = mean_length(url)

    assert 1.0 <= length < 1.05


@real_engine
def test_a_drafter_of_another_vocabulary_leaves_a_ready_server_without_drafts():
    flags = ("-md", str(model_path(OTHER_VOCABULARY)), "--spec-type", "draft-simple")
    with running(*TARGET_FLAGS, *flags) as server:
        url = server.url()
        recite(url, 1)
        got = counters(url)

    assert any("the target and draft vocabs are not compatible" in line for line in server.log)
    assert got["spec_decode_num_drafts_total"] == 0


@real_engine
def test_a_truncated_model_ends_the_engine_with_its_own_words(tmp_path):
    with running("-m", str(truncate_copy(TARGET, tmp_path)), "--port", "0") as server:
        status = server.end()

    assert status == 1
    assert any("data is not within the file bounds" in line for line in server.log)
    assert not any("Traceback" in line for line in server.log)


@real_engine
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_stop_while_the_model_loads_ends_the_engine_by_the_signal(tmp_path, number):
    endless = tmp_path / "endless.gguf"
    os.mkfifo(endless)  # nobody writes into it, so that the load never gets past opening it
    with running("-m", str(endless), "--port", "0") as server:
        server.read_until("loading model")
        server.process.send_signal(number)
        status = server.end()

    assert status == -number


@real_engine
def test_an_api_key_is_asked_for():
    with running(*TARGET_FLAGS, "--api-key", "open-sesame") as server:
        url = server.url()
        body = {"prompt": "def", "n_predict": 1}
        with pytest.raises(urllib.error.HTTPError) as refusal:
            ask(url + "/completion", body)
        refusal.value.close()
        answer = json.loads(ask(url + "/completion", body, key="open-sesame"))

    assert refusal.value.code == 401
    assert answer["tokens_predicted"] == 1

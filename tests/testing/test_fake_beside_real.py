"""The fake engine beside the real one: what a client may rely on is the same."""

import json
import re
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import pytest

from firedup.demo.engine import engine_command
from firedup.demo.model import TARGET, TRAINED, model_path
from firedup.testing.program import make_program
from firedup.testing.script import Http, Script, Speculation, line

pytestmark = [
    pytest.mark.engine,
    pytest.mark.skipif(find_spec("xllamacpp") is None, reason="firedup[demo] is not installed"),
]


@contextmanager
def serving(command: tuple[str, ...]) -> Iterator[str]:
    """Run a server; gives the URL that its log says it listens on."""
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            said = next(text for text in process.stderr if "listening on http" in text)
            yield said.split("listening on ")[1].strip()
        finally:
            process.kill()


def ask(url: str, body: dict[str, object] | None = None) -> str:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=100) as answer:
        return str(answer.read().decode())


@pytest.fixture(scope="module")
def of_both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., list[str]]]:
    """Ask both servers the same; the real one's answer comes first."""
    folder: Path = tmp_path_factory.mktemp("fake")
    script = Script(
        (line(0, "srv: listening on http://127.0.0.1:@PORT@"),),
        Http(speculation=Speculation("llama-cpp", length=1.5)),
    )
    fake = (sys.executable, str(make_program(folder, "llama-server", script)), "--port", "0")
    flags = ("-m", str(model_path(TARGET)), "-md", str(model_path(TRAINED)), "-t", "1")
    real = engine_command(*flags, "--spec-type", "draft-eagle3", "-c", "512", "--port", "0")
    with serving(real) as real_url, serving(fake) as fake_url:
        yield lambda path, body=None: [ask(url + path, body) for url in (real_url, fake_url)]


def test_both_are_healthy_once_they_listen(of_both):
    assert len(of_both("/health")) == 2  # anything but a 200 raises


@pytest.mark.parametrize("tokens", [1, 8])
def test_a_completion_has_the_text_and_the_count_in_the_same_places(of_both, tokens):
    body = {"prompt": "def close", "max_tokens": tokens, "temperature": 0, "ignore_eos": True}

    answers = [json.loads(text) for text in of_both("/v1/completions", body)]

    for answer in answers:
        assert isinstance(answer["choices"][0]["text"], str)
        assert answer["usage"]["completion_tokens"] == tokens


def test_the_counters_of_speculation_have_the_same_names(of_both):
    of_both("/completion", {"prompt": "def close", "n_predict": 16, "ignore_eos": True})

    real, fake = (
        set(re.findall(r"^(\w+:\w+)(?:\{position=\"\d\"\})? \d", text, re.MULTILINE))
        for text in of_both("/metrics")
    )

    assert "llamacpp:spec_decode_num_accepted_tokens_per_pos_total" in fake
    assert fake <= real

"""Commands of programs that no profile knows."""

from __future__ import annotations

import pytest

from firedup.profile.command import read_command
from firedup.profile.load import load_catalogue


@pytest.mark.parametrize(
    ("command", "model", "port"),
    [
        ("python -m http.server 8000", None, None),
        ("python3 -m my.server --model /models/k2 --port 8000", "/models/k2", 8000),
        ("./serve --model-path /models/k2 -p 8000", "/models/k2", 8000),
    ],
)
def test_a_module_of_python_is_no_model(command: str, model: str | None, port: int | None) -> None:
    spec = read_command(command.split(), {}, load_catalogue())

    assert (spec.engine, spec.model, spec.port) == (None, model, port)

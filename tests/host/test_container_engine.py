"""What a container engine is asked, by clients that answer late or of another container."""

import json
from pathlib import Path

from firedup.host.agent.engine import ask_engine, read_started_with

ID = "0123456789abcdef" * 4


def client_of(folder: Path, key: str) -> list[str]:
    """A client whose container has `key` among its variables."""
    told = json.dumps(["/bin/server", ["--port", "1"], [f"KEY={key}"]])
    (folder / "client").write_text(f"#!/bin/sh\necho '{told}'\n")
    (folder / "client").chmod(0o755)
    return [str(folder / "client")]


def test_a_client_whose_child_holds_its_pipe_is_given_up_in_time() -> None:
    client = ["sh", "-c", "sleep 3600 & sleep 3600"]

    assert ask_engine(client, [], limit_s=0.2) == (255, "")


def test_a_name_that_another_container_has_by_now_is_asked_again(tmp_path: Path) -> None:
    client = client_of(tmp_path, "old")
    before = read_started_with(client, "box")
    client_of(tmp_path, "new")

    assert before == (["/bin/server", "--port", "1"], {"KEY": "old"})
    assert read_started_with(client, "box")[1] == {"KEY": "new"}


def test_a_full_id_is_asked_once(tmp_path: Path) -> None:
    client = client_of(tmp_path, "old")
    read_started_with(client, ID)
    client_of(tmp_path, "new")

    assert read_started_with(client, ID)[1] == {"KEY": "old"}

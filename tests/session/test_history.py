"""What a run folder tells is read in few questions, for each costs a round trip."""

from pathlib import Path
from typing import Any

import pytest

from firedup.host.link import Agent
from firedup.session.history import load_history

SAMPLE = '{"at_ns": 5, "wall_ns": 6, "log_size": 4}\n'
EXIT = '{"at_ns": 7, "wall_ns": 8, "log_size": 4}'


@pytest.mark.parametrize("is_empty", [True, False])
async def test_a_file_that_is_missing_is_found_out_by_reading_it(
    agent: Agent, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_empty: bool
) -> None:
    log = tmp_path / "server.log"
    if not is_empty:
        log.write_text("one\n")
        (tmp_path / "events.jsonl").write_text("torn")
        (tmp_path / "samples.jsonl").write_text(SAMPLE)
        (tmp_path / "exit.json").write_text(EXIT)
    asked: list[str] = []
    begin = Agent.open

    def note(agent: Agent, op: str, **args: Any) -> Any:
        asked.append(op)
        return begin(agent, op, **args)

    monkeypatch.setattr(Agent, "open", note)
    history = await load_history(agent, str(tmp_path), str(log), 0)

    assert sorted(asked) == ["log_files", "read", "read", "read", "read"]
    assert history.is_torn is not is_empty
    assert history.last_sample_ns == (0 if is_empty else 5)
    assert len(history.volumes) == 1

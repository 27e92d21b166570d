"""A link that says nothing is asked, and given up only after it was."""

import asyncio
import contextlib

import pytest

from firedup.host.beat import Beat, keep_beating


class Line:
    """Silence as a test scripts it: one value for each look."""

    def __init__(self, *silences_s: float) -> None:
        self._silences_s = list(silences_s)
        self.asked = 0
        self.died_s: float | None = None

    def silent_s(self) -> float:
        if not self._silences_s:
            raise EOFError
        return self._silences_s.pop(0)

    def ask(self) -> None:
        self.asked += 1

    def die(self, silent_s: float) -> None:
        self.died_s = silent_s

    async def run(self) -> None:
        with contextlib.suppress(EOFError):
            await keep_beating(Beat(5.0, 15.0), self.silent_s, self.ask, self.die)


@pytest.fixture(autouse=True)
def _every_five(monkeypatch: pytest.MonkeyPatch) -> None:
    async def pass_time(seconds: float) -> None:
        pass

    monkeypatch.setattr(asyncio, "sleep", pass_time)


async def test_a_silent_link_is_asked_and_then_given_up() -> None:
    line = Line(5.0, 10.0, 15.0)
    await line.run()

    assert (line.asked, line.died_s) == (2, 15.0)


async def test_an_answer_keeps_it() -> None:
    line = Line(5.0, 10.0, 1.0, 5.0, 10.0, 0.5)
    await line.run()

    assert (line.asked, line.died_s) == (4, None)


async def test_a_client_that_stood_still_asks_before_it_gives_up() -> None:
    line = Line(300.0, 0.1)
    await line.run()

    assert line.died_s is None
    assert line.asked == 1

import pytest

from firedup.core.event import Exited
from firedup.view.ended import tell_end


@pytest.mark.parametrize(
    ("end", "said"),
    [
        (Exited(1, 1, 7, code=3), "has ended with exit status 3"),
        (Exited(1, 1, 7, code=0), "has ended with exit status 0"),
        (Exited(1, 1, 7, signal=9), "was ended by signal 9"),
        (Exited(1, 1, 7, error="the keeper is gone"), "has ended; its exit status is unknown"),
        (None, "has ended; its exit status is unknown"),
    ],
)
def test_an_end_that_nobody_saw_has_no_status(end: Exited | None, said: str) -> None:
    assert tell_end(end) == said

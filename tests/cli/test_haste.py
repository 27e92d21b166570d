import gc

import pytest

from firedup.cli.haste import loading


def test_garbage_is_collected_again_after_loading_even_if_that_fails() -> None:
    def load() -> None:
        with loading():
            seen.append(gc.isenabled())
            raise OSError("no file")

    seen: list[bool] = []
    with pytest.raises(OSError, match="no file"):
        load()
    assert seen == [False]
    assert gc.isenabled()


def test_whoever_had_it_switched_off_keeps_it_so() -> None:
    gc.disable()
    try:
        with loading():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()

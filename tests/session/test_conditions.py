"""What a measurement holds for, by what the server says of itself."""

from __future__ import annotations

import pytest

from firedup.core.measure.completion import Generation
from firedup.core.measure.serverinfo import ServerInfo
from firedup.probe.served import Served
from firedup.session.side import conditions_of


@pytest.mark.parametrize("speculates", [True, False, None])
def test_whether_the_server_speculates_belongs_to_it(speculates: bool | None) -> None:
    served = Served(ServerInfo("sglang", "0.5.9", "m", speculates=speculates), "/generate")

    found = conditions_of(served, Generation(64), None, host="local", through="direct")

    assert found.speculates is speculates
    assert (found.engine, found.version, found.max_tokens) == ("sglang", "0.5.9", 64)

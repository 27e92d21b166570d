"""A remedy names what the run itself was given of the things it speaks of."""

from __future__ import annotations

import pytest

from firedup.core.spec import ServerSpec
from firedup.core.verdict.mention import quote_settings

SPEC = ServerSpec(
    argv=("serve", "--mem_fraction_static", "0.92", "--tp=8", "-ngl", "-1", "--trust", "--tp=4"),
    variables=(("NCCL_ALGO", "Tree"),),
)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--mem-fraction-static",), "This run has --mem-fraction-static 0.92."),
        (("--tp", "NCCL_ALGO"), "This run has --tp 4, NCCL_ALGO=Tree."),
        (("-ngl",), "This run has -ngl -1."),
        (("--trust",), "This run has --trust."),
        (("--max-total-tokens", "NCCL_PROTO"), None),
        ((), None),
    ],
)
def test_flags_and_variables_are_quoted_as_given(words: tuple[str, ...], said: str | None) -> None:
    assert quote_settings(words, SPEC) == said

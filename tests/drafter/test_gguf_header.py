"""Headers of GGUF files beside what the reference implementation reads from them."""

import gguf
import pytest
from gguf.constants import GGML_QUANT_SIZES

from firedup.demo.model import MODELS, TARGET, Model, model_path
from firedup.drafter.gguf import _BLOCKS, NeedMoreError, parse_gguf


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.file)
def test_a_real_header_says_what_the_reference_reads(model: Model) -> None:
    path = model_path(model)
    reference = gguf.GGUFReader(path)

    found = parse_gguf(path.read_bytes())

    assert found.tensors == len(reference.tensors)
    assert set(found.metadata) == {
        name for name in reference.fields if not name.startswith("GGUF.")
    }
    architecture = reference.fields["general.architecture"].contents()
    assert found.metadata["general.architecture"] == architecture
    ends = [tensor.data_offset + tensor.n_bytes for tensor in reference.tensors]
    assert found.expected_bytes == max(ends)


def test_the_sizes_of_blocks_are_the_reference_s() -> None:
    q8_1 = gguf.GGMLQuantizationType.Q8_1  # two halves and 32 bytes; the reference has it wrong
    reference = {kind.value: size for kind, size in GGML_QUANT_SIZES.items() if kind != q8_1}

    assert {kind: _BLOCKS.get(kind) for kind in reference} == reference


def test_every_beginning_of_a_header_asks_for_more_and_gets_nearer() -> None:
    data = model_path(TARGET).read_bytes()
    asked = [1]

    while (needed := needed_after(data[: asked[-1]])) is not None:
        asked.append(max(needed, asked[-1] + asked[-1] // 8))

    assert asked == sorted(set(asked))
    assert len(asked) > 5
    assert parse_gguf(data[: asked[-1]]) == parse_gguf(data)


def needed_after(head: bytes) -> int | None:
    """How many bytes the header wants, None when it has enough."""
    try:
        parse_gguf(head)
    except NeedMoreError as error:
        return error.size
    return None


def test_what_is_no_gguf_file_is_said() -> None:
    with pytest.raises(ValueError, match="begins with"):
        parse_gguf(b"\x80\x02}q\x00")
    with pytest.raises(ValueError, match="version 77"):
        parse_gguf(b"GGUF" + (77).to_bytes(4, "little") + bytes(64))

"""The vocabulary of a tokenizer, from each kind of file that has one."""

from __future__ import annotations

import base64
import json
import struct
from pathlib import Path
from typing import Any

import pytest

from firedup.demo.model import TARGET, model_path
from firedup.host.agent.checkpoint import describe_checkpoint
from firedup.host.agent.ggufhead import read_gguf
from firedup.host.agent.slices import read_tokens
from firedup.host.agent.vocabulary import find_vocabulary, gguf_vocabulary

ADDED = [{"id": 3, "content": "<eos>", "special": True}]
BPE = {"model": {"vocab": {"b": 1, "a": 0, "é": 2}}, "added_tokens": ADDED}


def field(number: int, content: bytes) -> bytes:
    return bytes([number << 3 | 2, len(content)]) + content


def pieces(*texts: tuple[str, int]) -> bytes:
    """A SentencePiece model with these pieces and their kinds."""
    made = b""
    for text, kind in texts:
        score = bytes([2 << 3 | 5]) + struct.pack("<f", -1.0)
        made += field(1, field(1, text.encode()) + score + bytes([3 << 3, kind]))
    return made + field(2, b"trainer")


def told(folder: Path) -> dict[str, Any]:
    tokenizer: dict[str, Any] = describe_checkpoint(str(folder))["tokenizer"]
    return tokenizer


def test_the_layout_of_the_file_does_not_matter_and_one_token_does(tmp_path: Path) -> None:
    texts = [json.dumps(BPE), json.dumps(BPE, indent=4, sort_keys=True, ensure_ascii=False)]
    texts.append(json.dumps(BPE).replace('"b"', '"B"'))
    digests = []
    for number, text in enumerate(texts):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "tokenizer.json").write_text(text)
        digests.append(told(folder)["digest"])

    assert digests[0] == digests[1] != digests[2]


def test_special_tokens_and_size_are_told(tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_text(json.dumps(BPE))

    assert (told(tmp_path)["size"], told(tmp_path)["special"]) == (4, {"<eos>": 3})
    assert read_tokens(str(tmp_path), [2, 3, 9]) == [[2, "é"], [3, "<eos>"]]


def test_a_unigram_model_counts_its_pieces(tmp_path: Path) -> None:
    unigram = {"model": {"vocab": [["<unk>", 0.0], ["▁a", -1.5]]}}
    (tmp_path / "tokenizer.json").write_text(json.dumps(unigram))

    assert read_tokens(str(tmp_path), [0, 1]) == [[0, "<unk>"], [1, "▁a"]]


def test_ranks_of_tiktoken_and_tokens_that_the_config_adds(tmp_path: Path) -> None:
    ranks = b"".join(base64.b64encode(t) + b" %d\n" % n for n, t in enumerate([b"a", b"\xff\xfe"]))
    config = {"added_tokens_decoder": {"2": {"content": "[EOS]", "special": True}}}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    for name in ("tiktoken.model", "tokenizer.model"):  # some give it the other name
        (tmp_path / name).write_bytes(ranks)

        assert (told(tmp_path)["kind"], told(tmp_path)["size"]) == (name, 3)
        assert read_tokens(str(tmp_path), [1, 2]) == [[1, "\\xff\\xfe"], [2, "[EOS]"]]
        (tmp_path / name).unlink()


def test_pieces_of_sentencepiece(tmp_path: Path) -> None:
    model = pieces(("<unk>", 2), ("<s>", 3), ("▁a", 1), ("[INST]", 4))
    (tmp_path / "tokenizer.model").write_bytes(model)

    assert told(tmp_path)["special"] == {"<s>": 1, "[INST]": 3}
    assert read_tokens(str(tmp_path), [2]) == [[2, "▁a"]]


@pytest.mark.parametrize("cut", range(1, 30, 3))
def test_a_cut_sentencepiece_model_is_left_unread(tmp_path: Path, cut: int) -> None:
    (tmp_path / "tokenizer.model").write_bytes(pieces(("<unk>", 2), ("▁abcdefgh", 1))[:cut])
    (tmp_path / "a.gguf").touch()

    vocabulary, flaws = find_vocabulary(str(tmp_path))

    assert vocabulary is not None or [name for name, _ in flaws] == ["tokenizer.model"]


@pytest.mark.parametrize(
    "text",
    ["{}", "[]", '{"model": {"vocab": {"a": "b"}}}', '{"model": {"vocab": {"a": -1}}}',
     '{"model": {"vocab": {}}, "added_tokens": [1]}', '{"model": {"vocab": [1, 2]}}'],
)  # fmt: skip
def test_what_is_no_vocabulary_is_damage(tmp_path: Path, text: str) -> None:
    (tmp_path / "tokenizer.json").write_text(text)

    found = describe_checkpoint(str(tmp_path))

    assert found["tokenizer"] is None
    assert "tokenizer.json" in dict(found["damages"])


def test_a_gguf_file_has_its_own() -> None:
    vocabulary = gguf_vocabulary(read_gguf(str(model_path(TARGET))))

    assert vocabulary is not None
    assert vocabulary.tell()["size"] == len(vocabulary.tokens) > 1000
    assert list(vocabulary.special.values()) == [0]

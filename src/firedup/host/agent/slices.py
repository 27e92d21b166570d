"""Parts of a checkpoint's files: rows of tensors as bytes, tokens by their ids."""

import os
import zlib

from firedup.host.agent.document import FlawError, Source
from firedup.host.agent.ggufhead import read_gguf
from firedup.host.agent.modelplace import find_checkpoint
from firedup.host.agent.system import AgentError
from firedup.host.agent.vocabulary import find_vocabulary, gguf_vocabulary

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_MOST_SLICED = 16 << 20
_MOST_RANGES = 10000


def op_slices(args: "dict[str, Any]", _work: "Any") -> "tuple[dict[str, Any], bytes]":
    """slices {path, ranges: [[file, begin, size, width]]}: result {flaws}, the bytes compressed.

    `width` is the size of an item in bytes: first bytes of all items come first, as they compress
    best so. A range that cannot be read is as many zeros, and told: {flaws: [[range, why]]}.
    """
    data, flaws = read_slices(args["path"], args["ranges"])
    return {"size": len(data), "flaws": flaws}, zlib.compress(data, 6)


def read_slices(path: str, ranges: "list[list[Any]]") -> "tuple[bytes, list[list[Any]]]":
    """The bytes of all ranges, each in planes, and [number of a range, why it could not be read].

    Files are named from the folder of the checkpoint. Each is opened once where ranges follow.
    """
    if len(ranges) > _MOST_RANGES or sum(int(size) for _, _, size, _ in ranges) > _MOST_SLICED:
        raise AgentError("bad-request", f"more than {_MOST_SLICED:,} bytes are asked for")
    folder = find_checkpoint(path)
    if not os.path.isdir(folder):
        folder = os.path.dirname(folder) or "."
    pieces, flaws = [], []
    source, opened = None, None
    try:
        for number, (name, begin, size, width) in enumerate(ranges):
            try:
                if source is None or name != opened:
                    if source is not None:
                        source.close()
                    source, opened = None, name
                    source = Source(os.path.join(folder, name))
                data = source.read(begin, size)
            except FlawError as error:
                flaws.append([number, error.why])
                data = bytes(size)
            pieces.append(data if width < 2 else b"".join(data[i::width] for i in range(width)))
    finally:
        if source is not None:
            source.close()
    return b"".join(pieces), flaws


def op_tokens(args: "dict[str, Any]", _work: "Any") -> "dict[str, Any]":
    """tokens {path, ids}: {tokens: [[id, text]]}, of those ids that the tokenizer knows."""
    return {"tokens": read_tokens(args["path"], args["ids"])}


def read_tokens(path: str, ids: "list[int]") -> "list[list[Any]]":
    """The texts of tokens by their ids; empty where there is no tokenizer that can be read."""
    place = find_checkpoint(path)
    try:
        if os.path.isdir(place):
            vocabulary = find_vocabulary(place)[0]
        else:
            vocabulary = gguf_vocabulary(read_gguf(place))
    except FlawError:
        vocabulary = None
    tokens = {} if vocabulary is None else vocabulary.tokens
    known = [number for number in ids[:10000] if number in tokens]
    return [[n, tokens[n][:200].decode("utf-8", "backslashreplace")] for n in known]

"""A checkpoint as its headers and small files describe it, read where it lies."""

import gc
import json
import os
import zlib

from firedup.host.agent.document import FlawError, UnreadError, read_all, read_document
from firedup.host.agent.fold import Folded
from firedup.host.agent.ggufhead import begin_of, is_gguf, read_gguf
from firedup.host.agent.modelplace import MOST_NAMES, find_checkpoint, list_names
from firedup.host.agent.shardindex import missing_of_series, read_index
from firedup.host.agent.system import AgentError
from firedup.host.agent.tensorfile import read_tensors
from firedup.host.agent.vocabulary import Vocabulary, find_vocabulary, gguf_vocabulary

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_INDEX = "model.safetensors.index.json"
_MOST_JSON = 512 << 10
_EXTRA = (
    "generation_config.json", "hf_quant_config.json", "quantize_config.json", "quant_config.json",
    "tokenizer_config.json", "special_tokens_map.json",
)  # fmt: skip
_PICKLES = (".bin", ".pt", ".pth", ".ckpt")
PICKLE = "a pickle; not read"
NO_WEIGHTS = "no weights in this folder"
SEVERAL_GGUF = "several GGUF files; name one of them"
NO_CHECKPOINT = "neither safetensors nor GGUF"


class Reading:
    """What was found so far. `damages`, `doubts` and `unread` are [file, why]."""

    def __init__(self, path: str, *, is_beside: bool) -> None:
        self.path = path
        self.is_beside = is_beside  # whether a file of that folder was named in its place
        self.folded = Folded()
        self.files = []  # type: list[str]
        self.documents = {}  # type: dict[str, Any]
        self.metadata = {}  # type: dict[str, Any]
        self.damages = []  # type: list[list[str]]
        self.doubts = []  # type: list[list[str]]
        self.unread = []  # type: list[list[str]]
        self.tokenizer = None  # type: dict[str, Any] | None
        self.gguf = {}  # type: dict[str, Any]

    def damage(self, file: str, why: str) -> None:
        """Notes what is wrong with a file, a thousand times at most."""
        if len(self.damages) < 1000:
            self.damages.append([file[:256], why[:400]])

    def refuse(self, file: str, flaw: FlawError) -> None:
        """Notes a file that was not read, which need not be its own fault."""
        if isinstance(flaw, UnreadError):
            self.unread.append([file[:256], flaw.why])
        else:
            self.damage(file, flaw.why)

    def tell(self) -> "dict[str, Any]":
        """What crosses the link."""
        if self.folded.is_cut:
            self.damage("", "its tensors have thousands of different names; the rest is not told")
        return {
            "path": self.path,
            "is_beside": self.is_beside,
            "documents": self.documents,
            "metadata": self.metadata,
            "files": self.files,
            "tensors": self.folded.tensors,
            "groups": self.folded.groups,
            "tensor_count": self.folded.count,
            "tensor_bytes": self.folded.bytes,
            "tokenizer": self.tokenizer,
            "gguf": self.gguf,
            "damages": self.damages,
            "doubts": self.doubts,
            "unread": self.unread,
        }


class Never:
    """Stands for a request that nobody can cancel."""

    is_closed = False


def op_checkpoint(args: "dict[str, Any]", work: "Any") -> "tuple[dict[str, Any], bytes]":
    """checkpoint {path, base?, env?}: a folder or a file of weights; {size}, the JSON compressed.

    `path` may be the name of a model that lies in the cache of the hub. `base` is the folder that
    it is named from, and `env` says where that cache is. "not-found" for none.
    """
    told = describe_checkpoint(args["path"], work, args.get("base") or "", args.get("env") or {})
    data = json.dumps(told, separators=(",", ":"))
    return {"size": len(data)}, zlib.compress(data.encode("utf-8"), 6)


def describe_checkpoint(
    path: str, work: "Any" = Never, base: str = "", env: "Any" = None
) -> "dict[str, Any]":
    """All that is told of a checkpoint, as JSON has it; stops early when `work` is closed."""
    found = find_checkpoint(path, base, env)
    named = os.path.join(base, os.path.expanduser(path))
    is_beside = os.path.isdir(found) and os.path.isfile(named)
    reading = Reading(found, is_beside=is_beside)
    is_collecting = gc.isenabled()
    gc.disable()  # a million small objects, none of which is garbage, would be looked at again
    try:
        if os.path.isdir(found):
            _read_folder(reading, found, work)
        else:
            _read_single(reading, found)
        return reading.tell()
    finally:
        if is_collecting:
            gc.enable()


def _read_single(reading: Reading, path: str) -> None:
    name = os.path.basename(path)
    begin = begin_of(path, 9)
    if name.endswith(_PICKLES):
        reading.unread.append([name, PICKLE])
    elif is_gguf(path):
        _take_gguf(reading, path, name)
    elif name.endswith(".safetensors") or begin[8:] == b"{" or not begin:
        _take_shard(reading, os.path.dirname(path) or ".", name, None)
    else:
        reading.damage(name, NO_CHECKPOINT)


def _read_folder(reading: Reading, folder: str, work: "Any") -> None:
    try:
        names = list_names(folder)
    except OSError as error:
        raise AgentError("denied", f"{folder}: {error.strerror}") from error
    if len(names) > MOST_NAMES:
        reading.damage("", f"the folder holds more than {MOST_NAMES:,} files; not all are told")
    for name in ("config.json", *_EXTRA):
        if name in names:
            try:
                reading.documents[name] = read_document(os.path.join(folder, name), _MOST_JSON)
            except FlawError as error:
                reading.refuse(name, error)
    _read_card(reading, folder, names)
    _read_weights(reading, folder, names, work)
    vocabulary, flaws = find_vocabulary(folder)
    for name, flaw in flaws:
        reading.refuse(name, flaw)
    _take_vocabulary(reading, vocabulary)


def _read_card(reading: Reading, folder: str, names: "list[str]") -> None:
    """The models that the card names as those it was made of, and how."""
    if "README.md" not in names:
        return
    try:
        text = read_all(os.path.join(folder, "README.md"), _MOST_JSON).decode("utf-8", "replace")
    except FlawError:
        return
    _, _, rest = text.partition("---\n")
    head = rest.partition("\n---")[0] if text.startswith("---") else ""
    bases, is_inside = [], False
    card = {}  # type: dict[str, Any]
    for line in head.splitlines()[:200]:
        key, colon, value = line.partition(":")
        if colon and key.strip() == "base_model_relation":
            card["base_model_relation"] = value.strip(" '\"")[:40]
        elif colon and key.strip() == "base_model":
            is_inside = True
            bases += [value.strip(" '\"")] if value.strip() else []
        elif is_inside and line.lstrip().startswith("- "):
            bases.append(line.strip(" -'\""))
        elif line[:1].strip():
            is_inside = False
    if bases:
        card["base_model"] = [base[:200] for base in bases[:8]]
        reading.documents["README.md"] = card


def _read_weights(reading: Reading, folder: str, names: "list[str]", work: "Any") -> None:
    shards = [name for name in names if name.endswith(".safetensors")]
    indices = [name for name in names if name.endswith(".safetensors.index.json")]
    promised = {}  # type: dict[str, set[str]]
    if indices:
        index = _INDEX if _INDEX in indices else indices[0]
        try:
            promised = read_index(os.path.join(folder, index))
        except FlawError as error:
            reading.damage(index, error.why)
    if promised:
        aside = [name for name in shards if name not in promised]
        reading.unread += [[name, "not in the index"] for name in aside[:100]]
        shards = sorted(promised)
    else:
        for name in missing_of_series(shards):
            reading.damage(name, "not there, though its neighbours count it")
    for name in shards:
        if work.is_closed:
            raise AgentError("cancelled", "cancelled by the client")
        _take_shard(reading, folder, name, promised.get(name))
    pickles = [name for name in names if name.endswith(_PICKLES)]
    reading.unread += [[name, PICKLE] for name in pickles[:100]]
    ggufs = [name for name in names if name.endswith(".gguf")]
    if not shards and len(ggufs) == 1:
        _take_gguf(reading, os.path.join(folder, ggufs[0]), ggufs[0])
    elif not shards and not pickles:
        reading.damage("", SEVERAL_GGUF if ggufs else NO_WEIGHTS)


def _take_shard(reading: Reading, folder: str, name: str, promised: "set[str] | None") -> None:
    try:
        entries, metadata, flaws = read_tensors(os.path.join(folder, name))
    except FlawError as error:
        why = "the index names it and it is " if promised and error.why == "not there" else ""
        reading.damage(name, why + error.why)
        return
    for flaw in flaws:
        reading.damage(name, flaw)
    if promised:
        lacking = promised.difference([entry[2] for entry in entries])
        if lacking and not flaws:
            some = ", ".join(sorted(lacking)[:3])[:240]
            reading.doubts.append(
                [name, f"{len(lacking):,} tensors of the index are not in it: {some}"]
            )
    if len(str(metadata)) <= 4096:
        reading.metadata.update(metadata)
    reading.files.append(name)
    reading.folded.add(len(reading.files) - 1, entries)


def _take_gguf(reading: Reading, path: str, name: str) -> None:
    try:
        head = read_gguf(path)
    except FlawError as error:
        reading.damage(name, error.why)
        return
    for flaw in head.flaws:
        reading.damage(name, flaw)
    reading.gguf = head.metadata
    reading.files.append(name)
    reading.folded.add(len(reading.files) - 1, head.entries)
    _take_vocabulary(reading, gguf_vocabulary(head))


def _take_vocabulary(reading: Reading, vocabulary: "Vocabulary | None") -> None:
    if vocabulary is None:
        return
    try:
        reading.tokenizer = vocabulary.tell()
    except FlawError as error:
        reading.damage(vocabulary.kind, error.why)

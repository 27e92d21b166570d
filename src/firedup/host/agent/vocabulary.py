"""The vocabulary of a tokenizer from whichever file has it: a digest, not the file."""

import binascii
import hashlib
import os

from firedup.host.agent.document import FlawError, UnreadError, parse_json, read_all, read_document
from firedup.host.agent.ggufhead import GgufHead

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Iterator

BLOCK = 1024  # ids of which there is a digest of their own
_MOST_VOCABULARY = 100000000
_MOST_TOKENS = 2000000
_MOST_ID = 1 << 32
_MOST_SPECIAL = 2048
_MOST_CONFIG = 4 << 20
_FILES = ("tokenizer.json", "tiktoken.model", "tokenizer.model", "vocab.json")
_CONTROL, _USER_DEFINED = 3, 4  # kinds of pieces, for SentencePiece and GGUF alike


class Vocabulary:
    """`tokens` by id, as the file has them, and `special`, those that were added: text → id."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.tokens = {}  # type: dict[int, bytes]
        self.special = {}  # type: dict[str, int]

    def add(self, number: "Any", token: "Any", *, is_special: bool = False) -> None:
        """One token. FlawError for what is none."""
        if type(number) is not int or not 0 <= number < _MOST_ID or type(token) not in (str, bytes):
            raise FlawError("its vocabulary is not one of numbers and tokens")
        raw = token.encode("utf-8", "surrogatepass") if isinstance(token, str) else token
        self.tokens[number] = raw
        if is_special and len(self.special) < _MOST_SPECIAL:
            self.special[raw[:256].decode("utf-8", "replace")] = number

    def tell(self) -> "dict[str, Any]":
        """What crosses the link: digests of all and of each block of ids, and what is special."""
        if len(self.tokens) > _MOST_TOKENS:
            raise FlawError(f"its vocabulary has more than {_MOST_TOKENS:,} tokens")
        lines = {}  # type: dict[int, list[bytes]]
        for number in sorted(self.tokens):
            line = b"%d\t%s\n" % (number, self.tokens[number])
            lines.setdefault(number // BLOCK, []).append(line)
        whole, blocks = hashlib.sha256(), []
        for number, block in lines.items():
            text = b"".join(block)
            whole.update(text)
            blocks.append([number, hashlib.sha256(text).hexdigest()[:16]])
        return {
            "kind": self.kind,
            "digest": whole.hexdigest(),
            "size": len(self.tokens),
            "special": self.special,
            "blocks": blocks[:4096],
        }


def find_vocabulary(folder: str) -> "tuple[Vocabulary | None, list[tuple[str, FlawError]]]":
    """The vocabulary of a folder, and what is wrong with files that should have one."""
    flaws = []  # type: list[tuple[str, FlawError]]
    for name in _FILES:
        path = os.path.join(folder, name)
        if not os.path.lexists(path):
            continue
        try:
            return _READERS[name](path, name), flaws
        except FlawError as error:
            flaws.append((name, error))
    return None, flaws


def _read_tokenizer(path: str, name: str) -> Vocabulary:
    value = read_document(path, _MOST_VOCABULARY)
    found = Vocabulary(name)
    model = value.get("model") if isinstance(value, dict) else None
    vocab = model.get("vocab") if isinstance(model, dict) else None
    if isinstance(vocab, dict):
        for token, number in vocab.items():
            found.add(number, token)
    elif isinstance(vocab, list):  # Unigram: pairs of piece and score, by their place
        for number, pair in enumerate(vocab):
            found.add(number, pair[0] if isinstance(pair, list) and pair else None)
    else:
        raise FlawError("it holds no vocabulary")
    added = value.get("added_tokens") or []
    for one in added if isinstance(added, list) else []:
        if not isinstance(one, dict):
            raise FlawError("its added tokens are none")
        found.add(one.get("id"), one.get("content"), is_special=True)
    return found


def _read_vocab(path: str, name: str) -> Vocabulary:
    value = parse_json(read_all(path, _MOST_VOCABULARY))
    found = Vocabulary(name)
    if not isinstance(value, dict):
        raise FlawError("it holds no vocabulary")
    for token, number in value.items():
        found.add(number, token)
    _add_configured(found, os.path.dirname(path))
    return found


def _read_tiktoken(path: str, name: str) -> Vocabulary:
    found = Vocabulary(name)
    words = read_all(path, _MOST_VOCABULARY).split()
    try:
        tokens = map(binascii.a2b_base64, words[::2])
        found.tokens = dict(zip(map(int, words[1::2]), tokens))
    except ValueError:
        raise FlawError("a line of it is not a token and its rank") from None
    if len(words) % 2 or any(not 0 <= rank < _MOST_ID for rank in found.tokens):
        raise FlawError("a line of it is not a token and its rank")
    if not found.tokens:
        raise FlawError("it holds no vocabulary")
    _add_configured(found, os.path.dirname(path))
    return found


def _add_configured(found: Vocabulary, folder: str) -> None:
    """The tokens that tokenizer_config.json adds, where that can be read."""
    try:
        value = read_document(os.path.join(folder, "tokenizer_config.json"), _MOST_CONFIG)
    except FlawError:
        return
    added = value.get("added_tokens_decoder") if isinstance(value, dict) else None
    for number, one in (added if isinstance(added, dict) else {}).items():
        if isinstance(one, dict) and number.isdigit() and len(number) < 10:
            found.add(int(number), one.get("content"), is_special=True)


def _read_sentencepiece(path: str, name: str) -> Vocabulary:
    """The pieces of a SentencePiece model; some put a list of ranks under its name."""
    data = read_all(path, _MOST_VOCABULARY)
    try:
        return _take_pieces(data, name)
    except FlawError as error:
        try:
            return _read_tiktoken(path, name)
        except FlawError:
            raise UnreadError(error.why) from error


def _take_pieces(data: bytes, name: str) -> Vocabulary:
    found = Vocabulary(name)
    count = 0
    for field, piece in _fields(data, 0, len(data)):
        if field != 1 or not isinstance(piece, tuple):
            continue
        text, kind = b"", 1
        for part, value in _fields(data, *piece):
            if part == 1 and isinstance(value, tuple):
                text = data[value[0] : value[1]]
            elif part == 3 and isinstance(value, int):
                kind = value
        found.add(count, text, is_special=kind in (_CONTROL, _USER_DEFINED))
        count += 1
    if not count:
        raise FlawError("it is no SentencePiece model")
    return found


def _fields(data: bytes, at: int, end: int) -> "Iterator[tuple[int, int | tuple[int, int]]]":
    """The fields of a protobuf message: (number, integer or the place of its bytes)."""
    while at < end:
        tag, at = _varint(data, at, end)
        kind, value = tag & 7, 0  # type: int, int | tuple[int, int]
        if kind == 0:
            value, at = _varint(data, at, end)
        elif kind == 2:
            size, at = _varint(data, at, end)
            value, at = (at, at + size), at + size
        elif kind in (1, 5):
            at += 8 if kind == 1 else 4
        else:
            raise FlawError("it is no SentencePiece model")
        if at > end:
            raise FlawError("it is cut off")
        yield tag >> 3, value


def _varint(data: bytes, at: int, end: int) -> "tuple[int, int]":
    value = shift = 0
    while at < end and shift < 64:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7
    raise FlawError("it is no SentencePiece model")


def gguf_vocabulary(head: "GgufHead") -> "Vocabulary | None":
    """The vocabulary in a GGUF header."""
    if not head.tokens:
        return None
    found = Vocabulary("gguf")
    special = (_CONTROL, _USER_DEFINED)
    for number, token in enumerate(head.tokens):
        kind = head.token_types[number] if number < len(head.token_types) else 0
        found.add(number, token, is_special=kind in special)
    return found


_READERS = {
    "tokenizer.json": _read_tokenizer,
    "tiktoken.model": _read_tiktoken,
    "tokenizer.model": _read_sentencepiece,
    "vocab.json": _read_vocab,
}

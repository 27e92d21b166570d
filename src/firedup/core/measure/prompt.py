"""What a probe asks: messages, where they come from, and how a copy is told apart."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, replace

CHAT, CODE, MATHEMATICS, REASONING = "chat", "code", "mathematics", "reasoning"
SUMMARY, EXTRACTION, MULTILINGUAL = "summary", "extraction", "multilingual"
LONG_CONTEXT = "long-context"

# Written prompts, and the category whose prompts are built to a wanted length.
WRITTEN = (CHAT, CODE, MATHEMATICS, REASONING, SUMMARY, EXTRACTION, MULTILINGUAL)
CATEGORIES = (*WRITTEN, LONG_CONTEXT)


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation. `role` is "system", "user" or "assistant"."""

    role: str
    content: str


@dataclass(frozen=True, slots=True)
class Prompt:
    """One request to a server.

    `messages` are sent as they are; the last one is the user's. `later` are turns of the user that
    follow once the server has answered. `source` is "built-in", "built" or a file with its line.
    """

    id: str
    category: str
    messages: tuple[Message, ...]
    source: str
    later: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The conversation as one text, for routes that apply no chat template."""
        if len(self.messages) == 1:
            return self.messages[0].content
        parts = [f"{message.role.capitalize()}: {message.content}" for message in self.messages]
        return "\n\n".join([*parts, "Assistant:"])

    @property
    def turns(self) -> int:
        """How many requests it makes."""
        return 1 + len(self.later)

    @property
    def characters(self) -> int:
        """How long the messages are together."""
        return sum(len(message.content) for message in self.messages)

    def after(self, answer: str) -> Prompt | None:
        """The next turn of the conversation, given the server's `answer`; None after the last."""
        if not self.later:
            return None
        more = (Message("assistant", answer), Message("user", self.later[0]))
        return replace(self, messages=(*self.messages, *more), later=self.later[1:])


def single(id_: str, category: str, text: str, source: str) -> Prompt:
    """A prompt of one message by the user."""
    return Prompt(id_, category, (Message("user", text),), source)


def salted(prompt: Prompt, salt: str) -> Prompt:
    """A copy that says the same task and whose very first characters are those of `salt`.

    Its id is the prompt's with `~` and the salt behind. Prefix caches hold nothing of it; a cache
    of earlier answers (suffix decoding) may still know what comes next.
    """
    first = prompt.messages[0]
    content = f"{salt} is the number of this request and no part of the task.\n\n{first.content}"
    messages = (replace(first, content=content), *prompt.messages[1:])
    return replace(prompt, id=f"{prompt.id}~{salt}", messages=messages)


def content_key(prompt: Prompt) -> bytes:
    """A name for what the prompt asks: equal for two prompts that send the same messages."""
    digest = hashlib.sha256()
    for message in prompt.messages:
        _add(digest, message.role)
        _add(digest, message.content)
    for turn in prompt.later:
        _add(digest, "later")
        _add(digest, turn)
    return digest.digest()


def digest_of(prompts: Iterable[Prompt]) -> str:
    """A name for these prompts in this order; two probes with the same one asked the same."""
    digest = hashlib.sha256()
    for prompt in prompts:
        digest.update(content_key(prompt))
    return digest.hexdigest()[:16]


def _add(digest: hashlib._Hash, text: str) -> None:
    data = text.encode("utf-8", "surrogatepass")
    digest.update(b"%d:" % len(data) + data)

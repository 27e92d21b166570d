"""Runs on the server's host: asks it there, and tells over its own pipes what it measured."""

from __future__ import annotations

import asyncio
import base64
import json
import os
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import asdict
from functools import partial
from time import monotonic_ns
from typing import Any

from firedup.core.error import FiredupError
from firedup.probe.call import Call
from firedup.probe.client import Client
from firedup.probe.key import ApiKey
from firedup.probe.tls import Trust
from firedup.probe.url import ServerUrl

# A line holds one request with its prompt, which may be a long one.
_LONGEST_LINE = 64 * 2**20


def main(greeting: bytes) -> None:
    """Serve until the standard input ends. `greeting` is the agent's line with the key."""
    asyncio.run(_serve(json.loads(greeting)["key"]))


async def _serve(key: str | None) -> None:
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=_LONGEST_LINE)
    await loop.connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(0, "rb", buffering=0)
    )
    # Written by the loop: a slow link must not hold up the stamps of what goes on meanwhile.
    writer, _ = await loop.connect_write_pipe(asyncio.BaseProtocol, os.fdopen(1, "wb", buffering=0))
    try:
        order = json.loads(await reader.readline())
        secret = order["key"] or key
        held = ApiKey(secret) if secret else None
        trust = Trust(None, order["is_blind"], order["pem"])
        client = Client(ServerUrl(**order["url"]), key=held, trust=trust)
    except FiredupError as error:
        _say(writer, {"failed": error.what})
        return
    _say(writer, {"now_ns": monotonic_ns()})
    tasks: dict[int, asyncio.Task[None]] = {}
    gates: dict[int, asyncio.Semaphore] = {}
    async with client:
        while line := await reader.readline():
            message = json.loads(line)
            number = message["id"]
            if "cancel" in message:
                if number in tasks:
                    tasks[number].cancel()
                continue
            gate = _gate(gates, message.get("complete", {}).get("at_most"))
            task = tasks[number] = loop.create_task(_answer(client, writer, message, gate))
            task.add_done_callback(partial(_forget, tasks, number))
        for task in tuple(tasks.values()):
            task.cancel()


def _forget(tasks: dict[int, asyncio.Task[None]], number: int, _: asyncio.Task[None]) -> None:
    del tasks[number]


def _gate(
    gates: dict[int, asyncio.Semaphore], at_most: int | None
) -> AbstractAsyncContextManager[None]:
    """Lets so many through at a time, in the order in which they came."""
    if at_most is None:
        return nullcontext()
    return gates.setdefault(at_most, asyncio.Semaphore(at_most))


async def _answer(
    client: Client,
    writer: asyncio.WriteTransport,
    message: dict[str, Any],
    gate: AbstractAsyncContextManager[None],
) -> None:
    try:
        async with gate:
            _say(writer, {"id": message["id"], "begun": True})
            answer = await _ask(client, message)
    except Exception as error:  # noqa: BLE001 - whoever waits for the answer is to be told
        _say(writer, {"id": message["id"], "fault": type(error).__name__})
    else:
        _say(writer, {"id": message["id"], "answer": answer})


async def _ask(client: Client, message: dict[str, Any]) -> dict[str, Any]:
    if "fetch" in message:
        asked = message["fetch"]
        found = await client.fetch(
            asked["path"],
            method=asked["method"],
            body=base64.b64decode(asked["body"]),
            timeout_s=asked["timeout_s"],
        )
        return {**asdict(found), "body": base64.b64encode(found.body).decode()}
    given = message["complete"]
    late_ns = given.pop("late_ns")
    # It counts from when it should have been sent, and not for how long it was on the link.
    due_ns = None if late_ns is None else monotonic_ns() - late_ns
    body = given.pop("body").encode()
    return asdict(await client.complete(Call(**given, body=body, due_ns=due_ns)))


def _say(writer: asyncio.WriteTransport, message: dict[str, Any]) -> None:
    writer.write(json.dumps(message, separators=(",", ":")).encode() + b"\n")

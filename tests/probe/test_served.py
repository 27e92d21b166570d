"""Who answers at an address, by its recorded answers: SGLang, vLLM, llama.cpp, and a plain one."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from firedup.core.error import UsageError
from firedup.core.measure.acceptance import Counts
from firedup.core.measure.counter import Rise
from firedup.core.measure.measured import Request
from firedup.core.measure.serverinfo import ServerInfo
from firedup.probe.client import Client
from firedup.probe.key import ApiKey
from firedup.probe.served import Served, acceptance_of_cell, ask_served, rise_of, take_look
from firedup.probe.url import parse_url

RUNS = Path(__file__).parent.parent / "data/engine-runs"
LLAMA = {
    "/v1/models": '{"data": [{"id": "target-q8.gguf", "owned_by": "llamacpp"}]}',
    "/props": '{"build_info": "b11549-1a2b3c", "model_path": "/m/target-q8.gguf"}',
    "/slots": '[{"id": 0, "speculative": true, "is_processing": false}]',
}
VLLM = {
    "/v1/models": '{"data": [{"id": "tiny", "owned_by": "vllm"}]}',
    "/version": '{"version": "0.32.0"}',
}


def recorded(name: str, info_route: str = "/server_info") -> dict[str, str]:
    """The answers of a real SGLang."""
    answers = json.loads((RUNS / f"sglang/{name}.answers.json").read_text())
    return {
        "/v1/models": answers["/v1/models"]["body"],
        info_route: answers["/server_info"]["body"],
        "/metrics": answers["/metrics#after"]["body"],
    }


def scrape(name: str) -> str:
    return (RUNS / f"vllm/{name}.metrics.txt").read_text()


@asynccontextmanager
async def serving(
    answers: Mapping[str, str | list[str]], *, key: str = "", sent: str = ""
) -> AsyncIterator[Client]:
    """A client of a server with these answers; a list gives one after the other."""
    writers: list[asyncio.StreamWriter] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers.append(writer)
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                path = head.split()[1].decode()
                found = answers.get(path)
                status = "200 OK" if found is not None else "404 Not Found"
                if key and f"Bearer {key}".encode() not in head:
                    status, found = "401 Unauthorized", '{"error": "Unauthorized"}'
                body = found.pop(0) if isinstance(found, list) else found or "{}"
                size = len(body.encode())
                writer.write(f"HTTP/1.1 {status}\r\nContent-Length: {size}\r\n\r\n{body}".encode())
        except asyncio.IncompleteReadError:
            return  # the client has gone

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    url = parse_url(f"http://127.0.0.1:{port}")
    async with server, Client(url, key=ApiKey(sent) if sent else None) as client:
        yield client
    for writer in writers:
        writer.close()
        await writer.wait_closed()


@pytest.mark.parametrize("route", ["/server_info", "/get_server_info"])
async def test_sglang_says_all_of_itself_by_either_name_of_the_route(route: str) -> None:
    async with serving(recorded("t1_toy_eagle3", route)) as client:
        served = await ask_served(client)

    info = served.info
    assert (info.engine, info.version, info.model) == ("sglang", "0.5.23", "models/toy")
    assert (info.drafter, info.algorithm) == ("models/toydraft", "EAGLE3")
    assert (info.speculates, info.draft_tokens, info.simulated) == (True, 3, None)
    assert served.route == "/generate"
    assert served.counts_requests


@pytest.mark.parametrize(("run", "tokens"), [("t9_toy_eagle3_topk2", 3), ("t0_toy_baseline", None)])
async def test_a_tree_and_a_baseline_are_told_apart(run: str, tokens: int | None) -> None:
    async with serving(recorded(run)) as client:
        served = await ask_served(client)

    assert served.info.speculates is (run != "t0_toy_baseline")
    assert served.info.draft_tokens == tokens


@pytest.mark.parametrize(
    ("run", "speculates", "tokens"),
    [("a_base", False, None), ("d_eagle3", True, 3), ("b_ngram", True, 4)],
)
async def test_vllm_is_known_by_its_routes_and_its_counters(
    run: str, speculates: bool, tokens: int | None
) -> None:
    async with serving(VLLM | {"/metrics": scrape(run)}) as client:
        served = await ask_served(client)

    info = served.info
    assert (info.engine, info.version, info.model) == ("vllm", "0.32.0", "tiny")
    assert (info.speculates, info.draft_tokens) == (speculates, tokens)
    assert (served.route, served.has_counters) == ("/v1/completions", True)


async def test_llama_cpp_says_before_its_first_draft_that_it_speculates() -> None:
    async with serving(LLAMA) as client:
        served = await ask_served(client)

    assert served.info.engine == "llama-cpp"
    assert served.info.version == "b11549-1a2b3c"
    assert served.info.speculates is True
    found = acceptance_of_cell([], None, served)
    assert (found.length, found.why_not) == (
        None,
        "its metrics route is off; start it with --metrics",
    )


async def test_a_build_that_does_not_know_its_number_has_none() -> None:
    props = '{"build_info": "b0-unknown", "model_path": "/m/target-q8.gguf"}'
    async with serving(LLAMA | {"/props": props}) as client:
        served = await ask_served(client)

    assert (served.info.engine, served.info.version) == ("llama-cpp", None)


async def test_a_drafter_that_llama_cpp_turned_off_is_no_speculation() -> None:
    off = LLAMA | {"/slots": '[{"id": 0, "speculative": false}]'}
    async with serving(off) as client:
        served = await ask_served(client)

    assert acceptance_of_cell([], None, served).why_not == "the server does not speculate"


@pytest.mark.parametrize(("drafts", "speculates"), [(0, False), (12, True)])
async def test_counters_at_zero_do_not_make_llama_cpp_speculate(
    drafts: int, speculates: bool
) -> None:
    """It has them after its first request, with a drafter or without."""
    metrics = (
        f"llamacpp:spec_decode_num_drafts_total {drafts}\n"
        f"llamacpp:spec_decode_num_draft_tokens_total {3 * drafts}\n"
        "llamacpp:tokens_predicted_total 40\n"
    )
    slots = LLAMA["/slots"].replace("true", "false")
    async with serving({**LLAMA, "/slots": slots, "/metrics": metrics}) as client:
        served = await ask_served(client)

    assert served.info.speculates is speculates


async def test_any_other_server_is_asked_in_the_common_way_and_says_no_acceptance() -> None:
    plain = {"/v1/models": '{"data": [{"id": "some-model", "owned_by": "somebody"}]}'}
    async with serving(plain) as client:
        served = await ask_served(client)

    assert served == Served(ServerInfo(model="some-model"), "/v1/completions")
    found = acceptance_of_cell([Request("a", "chat", 0)], None, served)
    assert (found.length, found.rate) == (None, None)
    assert found.why_not == "the server shows no counters of speculation"


async def test_a_server_with_a_key_wants_it_and_is_asked_with_it() -> None:
    async with serving(VLLM, key="secret") as client:
        with pytest.raises(UsageError, match="wants an API key"):
            await ask_served(client)
        with pytest.raises(UsageError, match="refused the API key that it was given"):
            await ask_served(client, has_key=True)
    async with serving(VLLM, key="secret", sent="secret") as client:
        assert (await ask_served(client)).info.engine == "vllm"


async def test_a_restart_between_two_looks_is_told_instead_of_a_figure() -> None:
    late = scrape("d_eagle3").replace("1.7959721949", "1.8959721949")
    answers: dict[str, str | list[str]] = dict(VLLM)
    async with serving(answers | {"/metrics": [scrape("d_eagle3")] * 2 + [late]}) as client:
        served = await ask_served(client)
        rise = rise_of(await take_look(client, served), await take_look(client, served), served)

    found = acceptance_of_cell([], rise, served)
    assert found.length is None
    assert found.why_not is not None
    assert "began anew" in found.why_not


def test_made_up_acceptance_is_refused_with_its_reason() -> None:
    info = ServerInfo("sglang", speculates=True, simulated="SGLANG_SIMULATE_ACC_LEN=2.5")
    asked = [Request("a", "chat", 0, counts=Counts(10, 30, 15))]

    found = acceptance_of_cell(asked, None, Served(info, "/generate", counts_requests=True))

    assert found.length is None
    assert found.why_not == "the server's acceptance is simulated: SGLANG_SIMULATE_ACC_LEN=2.5"


def test_requests_that_all_have_counters_come_before_those_of_the_server() -> None:
    served = Served(ServerInfo("vllm", speculates=True), "/v1/completions", has_counters=True)
    one = Request("a", "chat", 0, counts=Counts(10, 30, 15))
    rise = Rise(Counts(40, 120, 40))

    both = acceptance_of_cell([one, Request("b", "chat", 0)], rise, served)
    own = acceptance_of_cell([one], rise, served)

    assert (both.length, both.source) == (2.0, "the server's counters")
    assert (own.length, own.source) == (2.5, "the server's counters between the requests")

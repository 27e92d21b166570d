"""One token from servers of every manner, asked through the real agent."""

import json
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import Any

import pytest

from firedup.core.model import ServerSpec
from firedup.host.base import local_host
from firedup.host.link import Agent, open_agent
from firedup.probe.accept import read_acceptance, read_counts
from firedup.probe.target import Target, make_target
from firedup.probe.token import ask_token
from firedup.profile.load import load_catalogue
from firedup.testing.answer import FakeServer
from firedup.testing.script import Http, Speculation

Reply = tuple[int, object]
Serve = Callable[[dict[str, Any]], Target]
COMPLETION = {"choices": [{"text": " fox"}], "usage": {"completion_tokens": 1}}
CHAT = {"choices": [{"message": {"content": "hi"}}], "usage": {"completion_tokens": 1}}


@pytest.fixture
async def agent() -> AsyncIterator[Agent]:
    async with open_agent(local_host()) as opened:
        yield opened


class Routes(ThreadingHTTPServer):
    """Answers each path as told and keeps what was asked; `None` holds the answer back."""

    daemon_threads = True

    def __init__(self, routes: dict[str, Any]) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.routes = routes
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.is_over = Event()


class Handler(BaseHTTPRequestHandler):
    server: Routes

    def log_message(self, *args: object) -> None:
        pass

    def do_GET(self) -> None:
        self.do_POST()

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        asked = json.loads(body or b"{}")
        self.server.asked.append((self.path, asked))
        found = self.server.routes.get(self.path, (404, {"error": "no such route"}))
        if found is None:
            self.server.is_over.wait(30)
            return
        status, value = found(asked) if callable(found) else found
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


@pytest.fixture
def routes(agent: Agent) -> Iterator[Callable[..., tuple[Routes, Target]]]:
    """A server with these routes, and the target that SGLang's profile makes of it."""
    started = []
    profile = load_catalogue().profile("sglang")

    def serve(routes: dict[str, Any], **spec: Any) -> tuple[Routes, Target]:
        server = Routes(routes)
        started.append(server)
        Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        described = ServerSpec(port=server.server_address[1], model="org/model", **spec)
        return server, make_target(agent, described, profile)

    yield serve
    for server in started:
        server.is_over.set()
        server.shutdown()
        server.server_close()


async def test_the_first_route_that_exists_is_asked_for_one_token_at_temperature_zero(
    routes: Any,
) -> None:
    server, target = routes({"/v1/completions": (200, COMPLETION)})

    asked = await ask_token(target, 5)

    ((path, body),) = server.asked
    assert path == "/v1/completions"
    assert (body["max_tokens"], body["temperature"], body["model"]) == (1, 0, "org/model")
    assert asked.event.has_answered
    assert (asked.event.text, asked.event.tokens) == (" fox", 1)


async def test_a_route_that_is_missing_lets_the_next_be_tried(routes: Any) -> None:
    server, target = routes(
        {"/v1/chat/completions": (200, CHAT), "/v1/models": (200, {"data": []})}
    )

    asked = await ask_token(target, 5)

    assert [path for path, _ in server.asked] == [
        "/v1/completions",
        "/v1/models",
        "/v1/chat/completions",
    ]
    assert (asked.event.route, asked.event.text) == ("/v1/chat/completions", "hi")


async def test_a_model_known_by_another_name_is_asked_for_by_that_name(routes: Any) -> None:
    def answer(asked: dict[str, Any]) -> Reply:
        known = asked["model"] == "public-name"
        return (200, COMPLETION) if known else (404, {"error": "no model org/model"})

    _, target = routes(
        {
            "/v1/completions": answer,
            "/v1/models": (200, {"object": "list", "data": [{"id": "public-name"}]}),
        }
    )

    asked = await ask_token(target, 5)

    assert asked.event.has_answered
    assert asked.event.route == "/v1/completions"


async def test_the_name_that_the_command_serves_is_used(routes: Any) -> None:
    server, target = routes({"/v1/completions": (200, COMPLETION)}, served_name="mine")

    await ask_token(target, 5)

    assert server.asked[0][1]["model"] == "mine"


async def test_with_a_drafter_enough_tokens_are_asked_for_to_be_drafted(routes: Any) -> None:
    server, target = routes({"/v1/completions": (200, COMPLETION)}, draft="org/drafter")

    await ask_token(target, 5)

    assert server.asked[0][1]["max_tokens"] > 8


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        ((500, {"error": {"message": "the head is lost"}}), "answered 500: the head is lost"),
        ((401, {"error": "no key"}), "the API key was not found in the server's command"),
        ((200, {"choices": [{"text": ""}]}), "answered 200 without a single token"),
        ((200, ["odd"]), "answered 200"),
    ],
)
async def test_an_answer_without_a_token_is_told_in_the_server_s_words(
    routes: Any, reply: Reply, why: str
) -> None:
    _, target = routes({"/v1/completions": reply})

    asked = await ask_token(target, 5)

    assert not asked.event.has_answered
    assert not asked.event.has_timed_out
    assert asked.event.error is not None
    assert why in asked.event.error


async def test_a_server_without_any_route_is_said(routes: Any) -> None:
    _, target = routes({})

    asked = await ask_token(target, 5)

    assert not asked.event.has_answered
    assert asked.event.error is not None
    assert "/generate answered 404" in asked.event.error


async def test_a_request_that_is_never_answered_is_told_from_a_refusal(routes: Any) -> None:
    _, target = routes({"/v1/completions": None})

    asked = await ask_token(target, 5, deadline_s=0.2)

    assert asked.event.has_timed_out
    assert asked.event.error == "no token within 0.2 s"


async def test_a_port_that_nobody_holds_is_a_refusal(routes: Any, agent: Agent) -> None:
    server, target = routes({})
    server.shutdown()
    server.server_close()

    asked = await ask_token(target, 5)

    assert not asked.event.has_answered
    assert not asked.event.has_timed_out


@pytest.mark.parametrize("purpose", ["embedding", "prefill", "decode", "follower"])
async def test_what_cannot_generate_is_not_asked(routes: Any, purpose: str) -> None:
    server, target = routes({}, purpose=purpose)

    asked = await ask_token(target, 5)

    assert asked.event.is_skipped
    assert asked.event.error
    assert server.asked == []


@pytest.fixture
def engine(agent: Agent) -> Iterator[Callable[[str, Http], Target]]:
    """The fake engine's HTTP side with its counters, as this engine's target."""
    started = []
    catalogue = load_catalogue()

    def serve(name: str, http: Http) -> Target:
        server = FakeServer(replace(http, health=((0.0, 200),)), 0, lambda: 1.0)
        started.append(server)
        Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        spec = ServerSpec(engine=name, port=server.server_address[1], draft="org/drafter")
        return make_target(agent, spec, catalogue.profile(name))

    yield serve
    for server in started:
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize("name", ["vllm", "llama-cpp"])
async def test_acceptance_is_that_of_the_tokens_just_generated(engine: Any, name: str) -> None:
    target = engine(name, Http(speculation=Speculation(name, length=2.5, proposed=3)))
    await ask_token(target, 5, max_tokens=7)  # somebody else's tokens, counted before
    before = await read_counts(target)

    asked = await ask_token(target, 5, max_tokens=20)
    accepted = await read_acceptance(target, 5, asked.answer, before)

    # Every two steps accept 1 and 2 tokens: length 2.5, and 3 proposed per step.
    found = accepted.acceptance
    assert before is not None
    assert (found.length, found.rate) == (2.5, 0.5)
    assert (found.steps, found.accepted, found.proposed) == (8, 12, 24)


async def test_sglang_is_asked_by_its_native_route_which_alone_is_exact(engine: Any) -> None:
    target = engine("sglang", Http(speculation=Speculation("sglang", length=2.5, proposed=3)))
    before = await read_counts(target)

    asked = await ask_token(target, 5, max_tokens=20)
    accepted = await read_acceptance(target, 5, asked.answer, before)

    found = accepted.acceptance
    assert found.length is not None
    assert found.length == pytest.approx(2.5, abs=0.2)
    assert found.source == "/generate"


async def test_a_server_without_counters_has_no_figure_and_a_reason(engine: Any) -> None:
    target = engine("vllm", Http())

    asked = await ask_token(target, 5)
    accepted = await read_acceptance(target, 5, asked.answer, await read_counts(target))

    assert accepted.acceptance.length is None
    assert accepted.acceptance.why_not

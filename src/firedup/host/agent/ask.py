"""What a keeper asks its server when no client does: whose the port is, its health, a token."""

import json
import socket

from firedup.host.agent.key import find_key
from firedup.host.agent.port import op_port
from firedup.host.agent.system import AgentError, boottime_ns
from firedup.host.agent.web import op_http

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_HEALTH_LIMIT_S = 5.0
# They hold the ports of containers, whose servers are none of their descendants.
_PROXIES = ("docker-proxy", "rootlessport", "rootlesskit", "conmon", "pasta", "slirp4netns")
# Where in a message the engines' dialects put generated text.
_TEXTS = ("reasoning_content", "reasoning", "content")


class _Alone:
    """Stands for a request's stream where nobody can cancel."""

    on_cancel = None
    is_closed = False


def ask_server(
    recipe: "dict[str, Any]", folder: str, pids: "list[int]", *, is_port_own: bool
) -> "dict[str, Any]":
    """One round of questions, in a child of the keeper.

    Result: {owner: yes, no, unknown or null (nobody listens), health?: status, token?: {answered,
    is_late, why?}}. What was not asked is missing.
    """
    answers = {"owner": "yes" if is_port_own else _find_owner(recipe, pids)}  # type: dict[str, Any]
    if answers["owner"] is None:
        return answers
    source = dict(recipe.get("key") or {}, run=folder) if recipe.get("key") else None
    is_foreign = answers["owner"] == "no"  # whoever that is gets no key
    answers["health"] = _ask_health(recipe, None if is_foreign else source)
    if answers["health"] == 200 and not is_foreign:
        answers["token"] = _ask_token(recipe, source)
    answers["at_ns"] = boottime_ns()
    return answers


def _find_owner(recipe: "dict[str, Any]", pids: "list[int]") -> "str | None":
    """Whose socket listens on the port, where it was not seen to be the server's."""
    found = op_port({"port": recipe["port"]})
    meant = [one for one in found["listeners"] if _stands_in_way(one["address"], recipe["bind"])]
    owners = [owner for one in meant for owner in one["owners"]]
    if any(owner["pid"] in pids for owner in owners):
        return "yes"
    if owners and all(owner["name"][:15] not in _PROXIES for owner in owners):
        return "no"
    return "unknown" if meant else None


def _stands_in_way(address: str, bind: "str | None") -> bool:
    """Whether a socket on `address` takes the place of one on `bind`."""
    import ipaddress

    if not bind:
        return True
    try:
        one, other = ipaddress.ip_address(address), ipaddress.ip_address(bind)
    except ValueError:  # a host name
        return True
    one = getattr(one, "ipv4_mapped", None) or one
    return one.is_unspecified or other.is_unspecified or one == other


def _ask_health(recipe: "dict[str, Any]", source: "dict[str, Any] | None") -> "int | None":
    """The status of the health route; by hand, since it is asked often and imports cost."""
    address, port = recipe["address"], recipe["port"]
    key = find_key(source) if source else None
    lines = ["GET {} HTTP/1.1".format(recipe["health"]), f"Host: {address}:{port}"]
    lines += ["Accept: */*", "Connection: close"]
    lines += ["Authorization: Bearer " + key] if key else []
    head = b""
    try:
        link = socket.create_connection((address, port), _HEALTH_LIMIT_S)
        if recipe.get("tls"):
            import ssl

            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE  # the server is on this very host
            link = context.wrap_socket(link)
        with link:
            link.sendall("\r\n".join([*lines, "", ""]).encode("utf-8"))
            while b"\r\n" not in head and len(head) < 4096:
                piece = link.recv(4096)
                if not piece:
                    break
                head += piece
    except OSError:
        return None
    words = head.split(b"\r\n")[0].split()
    if len(words) < 2 or not words[0].startswith(b"HTTP/") or not words[1].isdigit():
        return None
    return int(words[1])


def _ask_token(recipe: "dict[str, Any]", source: "dict[str, Any] | None") -> "dict[str, Any]":
    """One generation, by whichever route there is."""
    if not recipe["generates"]:
        return {"answered": True, "is_late": False, "why": None}
    why = "the server has no route for completions"
    try:
        for route in recipe["token"]:
            status, body = _request(recipe, source, route["path"], route["body"])
            named = _first_model(recipe, source) if status == 404 else None
            asked = json.loads(route["body"])
            if named is not None and named != asked.get("model") and "model" in asked:
                text = json.dumps(dict(asked, model=named))
                status, body = _request(recipe, source, route["path"], text)
            if status == 200 and has_generated(body):
                return {"answered": True, "is_late": False, "why": None}
            why = "{} answered {}".format(route["path"], status)
            if status not in (404, 405):
                break
    except AgentError as error:
        return {"answered": False, "is_late": error.code == "timeout", "why": error.what}
    return {"answered": False, "is_late": False, "why": why}


def _request(
    recipe: "dict[str, Any]", source: "dict[str, Any] | None", path: str, body: "str | None"
) -> "tuple[int, bytes]":
    args = {"host": recipe["address"], "port": recipe["port"], "path": path, "body": body}
    args.update(tls=recipe.get("tls"), limit_s=recipe["token_s"], key_from=source)
    args["method"] = "GET" if body is None else "POST"
    args["headers"] = {} if body is None else {"Content-Type": "application/json"}
    result, data = op_http(args, _Alone())
    return result["status"], data


def _first_model(recipe: "dict[str, Any]", source: "dict[str, Any] | None") -> "str | None":
    status, body = _request(recipe, source, "/v1/models", None)
    try:
        name = json.loads(body.decode("utf-8"))["data"][0]["id"] if status == 200 else None
    except (ValueError, LookupError, TypeError):
        return None
    return name if isinstance(name, str) else None


def has_generated(body: bytes) -> bool:
    """Whether an answer in any of the dialects holds at least one token."""
    try:
        value = json.loads(body.decode("utf-8"))
    except (ValueError, RecursionError):
        return False
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if not isinstance(value, dict):
        return False
    if isinstance(value.get("text"), str):
        return _is_some(value["text"], _entry(value, "meta_info"))
    choices = value.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        return False
    text = choices[0].get("text")
    if not isinstance(text, str):
        message = _entry(choices[0], "message")
        text = "".join(message[k] for k in _TEXTS if isinstance(message.get(k), str))
    return _is_some(text, _entry(value, "usage"))


def _entry(value: "dict[str, Any]", name: str) -> "dict[str, Any]":
    found = value.get(name)
    return found if isinstance(found, dict) else {}


def _is_some(text: str, counts: "dict[str, Any]") -> bool:
    tokens = counts.get("completion_tokens")
    if isinstance(tokens, int) and not isinstance(tokens, bool):
        return tokens != 0
    return bool(text)

"""The address of a server as people write it, taken apart and checked."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit

from firedup.core.error import UsageError

_PORTS = {"http": 80, "https": 443}
_TODO = "Write it as http://HOST:PORT or https://HOST, without a path below the server's own."


@dataclass(frozen=True, slots=True)
class ServerUrl:
    """Where a server is. `prefix` stands before the paths of its routes, mostly empty."""

    scheme: str
    host: str
    port: int
    prefix: str = ""

    @property
    def has_tls(self) -> bool:
        """Whether the connection is encrypted."""
        return self.scheme == "https"

    @property
    def authority(self) -> str:
        """HOST or HOST:PORT, as the Host header wants it; IPv6 in brackets."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"

    def __str__(self) -> str:
        return f"{self.scheme}://{self.authority}{self.prefix}"


def parse_url(text: str) -> ServerUrl:
    """The server that `text` names; `http` when it does not say. UsageError with what is wrong.

    Names and passwords in an address would end in logs and process lists, and are refused. A path
    that ends in `/v1` is cut there, because the routes begin with it.
    """
    try:
        parts = urlsplit(text if "://" in text else f"http://{text}")
        port = parts.port
    except ValueError as error:
        # The message may quote the whole text, and that may hold a password.
        raise UsageError("the server's address cannot be read", todo=_TODO) from error
    if parts.username is not None or parts.password is not None:
        raise UsageError(
            "the server's address holds a name or a password",
            todo="Give the key by the option or the environment variable for it.",
        )
    shown = f"{parts.scheme}://{parts.netloc}{parts.path}"
    if parts.scheme not in _PORTS:
        raise UsageError(f"the server's address {shown} is neither http nor https", todo=_TODO)
    host = parts.hostname
    if not host or parts.query or parts.fragment or not _is_plain(text):
        raise UsageError(f"the server's address {shown!r} cannot be used", todo=_TODO)
    prefix = parts.path.rstrip("/").removesuffix("/v1").rstrip("/")
    return ServerUrl(parts.scheme, host, port or _PORTS[parts.scheme], prefix)


def _is_plain(text: str) -> bool:
    return text.isascii() and text.isprintable() and " " not in text

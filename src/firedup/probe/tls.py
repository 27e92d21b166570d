"""Encrypted connections: whose certificates are trusted, and failures in words."""

from __future__ import annotations

import os
import re
import ssl
from dataclasses import dataclass
from pathlib import Path

from firedup.core.error import UsageError

# The rest of such a file may be a private key, which stays where it is.
_CERTIFICATE = re.compile(r"-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----")


@dataclass(frozen=True, slots=True)
class Trust:
    """Which certificates are believed: the system's authorities, or those of `ca_file` alone.

    `pem` are certificates themselves, from elsewhere. `is_blind` believes any, which a figure from
    a measurement survives and a secret does not.
    """

    ca_file: Path | None = None
    is_blind: bool = False
    pem: str | None = None

    @property
    def note(self) -> str | None:
        """What has to be said about it."""
        if self.is_blind:
            return "the server's certificate is not checked: whoever is on the way may read along"
        return None

    def carried(self) -> Trust:
        """The same for another machine, which does not have the file. UsageError as for it."""
        if self.ca_file is None:
            return self
        make_context(Trust(self.ca_file))
        held = self.ca_file.read_text(encoding="utf-8", errors="replace")
        return Trust(None, self.is_blind, "\n".join(_CERTIFICATE.findall(held)))


def make_context(trust: Trust) -> ssl.SSLContext:
    """The context for connections that `trust` describes. UsageError when its file is no good."""
    if trust.is_blind:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        return context
    try:
        file = str(trust.ca_file) if trust.ca_file else None
        return ssl.create_default_context(cafile=file, cadata=trust.pem)
    except (OSError, ssl.SSLError) as error:
        raise UsageError(
            f"the certificates of {trust.ca_file} cannot be used",
            why=error.strerror or str(error),
            todo="Name a file of certificates in PEM form.",
        ) from None


def explain_failure(error: OSError, place: str) -> str:
    """Why no connection to `place` came about, in one sentence, and what may help."""
    if isinstance(error, ssl.SSLCertVerificationError):
        why = error.verify_message or "the certificate cannot be verified"
        return (
            f"the certificate of {place} is not trusted: {why}"
            " (--cacert FILE trusts an authority of your own, --insecure trusts anybody)"
        )
    if isinstance(error, ssl.SSLError):
        if error.reason in ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "RECORD_LAYER_FAILURE"):
            return f"{place} does not speak TLS; write http:// instead of https://"
        return f"no encrypted connection to {place}: {error.reason or error}"
    return f"no connection to {place}: {_say_why(error)}"


def _say_why(error: OSError) -> str:
    """In the system's words; asyncio has its own, which tell an address and no reason."""
    said = error.strerror or str(error) or type(error).__name__
    is_asyncios = "Connect call failed" in said
    return os.strerror(error.errno) if is_asyncios and error.errno else said

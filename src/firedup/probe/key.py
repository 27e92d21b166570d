"""An API key that shows itself to the server alone."""

from __future__ import annotations

from firedup.core.error import UsageError


class ApiKey:
    """Holds a key so that neither `repr`, nor a log, nor an error can hold it by accident."""

    __slots__ = ("_secret",)

    def __init__(self, secret: str) -> None:
        secret = secret.strip()
        if not secret or not secret.isascii() or not secret.isprintable() or " " in secret:
            raise UsageError(
                "the API key is empty or holds characters that no header may hold",
                todo="Give the key alone, without quotes, names or line ends.",
            )
        self._secret = secret

    def __repr__(self) -> str:
        return "ApiKey(…)"

    def __reduce__(self) -> str:
        raise TypeError("an API key is not stored")

    def header(self) -> str:
        """The value of the Authorization header."""
        return f"Bearer {self._secret}"

    def hand_over(self) -> str:
        """The key itself, for a pipe to a client elsewhere; never for a file or a command line."""
        return self._secret

    def blot(self, text: str) -> str:
        """`text` without the key, which servers quote when they refuse it."""
        return text.replace(self._secret, "…")

"""HTTP requests with a deadline, in JSON; what goes wrong becomes a sentence that says what to do next.

The standard library does: the calls are few and block anyway, and there is nothing to install.
"""

import http.client
import json
import socket
import ssl
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from adapters.http.requests import HttpConnection
from adapters.shared.contact import speaks_tls, tls_words, why_not_reached
from adapters.shared.values import LONGEST_MESSAGE, Deadline, quoted
from tuner.adapter import AdapterError, DeadlineError, LinkError, RefusedError
from tuner.basics.text import shown

_LATER = (408, 423, 425, 429)  # and all from 500: trying again may help
_PIECE = 65_536
_OTHERS = 0o077


@dataclass(frozen=True, slots=True)
class Answer:
    """Status and body of an answer; the body is None if there is none."""

    status: int
    body: Any
    allow: str = ""


class HttpClient:
    """Makes a connection for each request, so that none is old when it is needed."""

    def __init__(self, settings: HttpConnection) -> None:
        self._settings = settings
        at = urlsplit(settings.base)
        self.secure = at.scheme == "https"
        self.host, self.port = at.hostname or "", at.port or (443 if self.secure else 80)
        self._root = at.path.rstrip("/")
        self.where = f"the machine at {settings.base}"

    def ask(self, what: str, method: str, path: str, body: Any, deadline: Deadline, timeout_s: float) -> Answer:
        """One request and its answer, whatever its status."""
        left_s = deadline.left_s()
        if left_s == 0:
            raise DeadlineError(f"{self.where} did not answer to {what} within {deadline.seconds:g} s")
        limit = Deadline(min(left_s, timeout_s))
        headers = {"Accept": "application/json", **self._settings.headers, **self._secrets()}
        data = None if body is None else json.dumps(body, allow_nan=False).encode()
        if data is not None:
            headers.setdefault("Content-Type", "application/json")
        connection = self._connection(limit.left_s())
        response: http.client.HTTPResponse | None = None
        try:
            connection.request(method, self._root + path, data, headers)
            sock = connection.sock  # the response takes it over
            response = connection.getresponse()
            raw = self._body(sock, response, limit)
            return Answer(response.status, _json(raw), response.getheader("Allow", ""))
        except TimeoutError as error:
            raise self._late(what, deadline, timeout_s) from error
        except ssl.SSLError as error:
            raise LinkError(f"{self.where} cannot be spoken to: {tls_words(error)}") from error
        except (OSError, http.client.HTTPException) as error:
            why = why_not_reached(self.host, self.port, max(limit.left_s(), 0.05), tls=self.secure) or str(error)
            if not self.secure and "encryption" in why:
                why = f"port {self.port} wants encryption: write https instead of http into base"
            raise LinkError(f"{self.where} does not answer to {what}: {why}") from error
        finally:
            if response is not None:
                response.close()
            connection.close()

    def _late(self, what: str, deadline: Deadline, timeout_s: float) -> AdapterError:
        if deadline.left_s() == 0:
            return DeadlineError(f"{self.where} did not answer to {what} within {deadline.seconds:g} s")
        if not self.secure and speaks_tls(self.host, self.port, min(1.0, deadline.left_s())):
            return LinkError(f"{self.where} wants encryption: write https instead of http into base")
        return LinkError(f"{self.where} did not answer to {what} within {timeout_s:g} s")

    def _connection(self, timeout_s: float) -> http.client.HTTPConnection:
        if not self.secure:
            return http.client.HTTPConnection(self.host, self.port, timeout=timeout_s)
        tls = self._settings.tls
        try:
            context = ssl.create_default_context(cafile=tls.ca_file if tls else None)
            if tls and tls.certificate_file:
                context.load_cert_chain(tls.certificate_file, tls.key_file)
        except OSError as error:
            raise RefusedError(f"the certificates for {self.where} cannot be used: {error}") from error
        return http.client.HTTPSConnection(self.host, self.port, timeout=timeout_s, context=context)

    def _body(self, sock: socket.socket, response: http.client.HTTPResponse, limit: Deadline) -> bytes:
        """All of it: one that comes drop by drop must not outlive the deadline."""
        raw = b""
        while len(raw) <= LONGEST_MESSAGE:
            sock.settimeout(max(limit.left_s(), 0.001))
            piece = response.read1(_PIECE)
            if not piece:
                return raw
            if limit.left_s() == 0:
                raise TimeoutError
            raw += piece
        raise LinkError(f"{self.where} answered with more than {LONGEST_MESSAGE} bytes")

    def _secrets(self) -> dict[str, str]:
        path = self._settings.headers_file
        if path is None:
            return {}
        try:
            if path.stat().st_mode & _OTHERS:
                raise RefusedError(f"the file {path} with secret headers can be read by others: chmod 600 {path}")
            lines = path.read_text("utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise RefusedError(f"the file with secret headers cannot be read: {error}") from error
        pairs = [line.partition(":") for line in lines if line.strip() and not line.startswith("#")]
        if any(not colon for _, colon, _ in pairs):
            raise RefusedError(f'{path} has a line that is no header; write for example "Authorization: Bearer abc"')
        return {name.strip(): value.strip() for name, _, value in pairs}

    def checked(self, what: str, answer: Answer) -> Any:
        """The body of an answer that says yes.

        Raises:
            RefusedError: It says no, and would again.
            LinkError: It cannot now.
        """
        status = answer.status
        if 200 <= status < 300:
            return answer.body
        said = f": {quoted(_words(answer.body))}" if answer.body is not None else ""
        if status in _LATER or status >= 500:
            raise LinkError(f"{self.where} cannot answer to {what} now (status {status}){said}")
        if 300 <= status < 400:
            raise RefusedError(f"{self.where} sends {what} to another address (status {status}): write that into base")
        advice = {
            401: "; it wants to know who asks: look at headers_file",
            403: "; we may not: look at headers_file and at the rights of its user",
            404: "; there is nothing at this path: look for a slip in base and path",
            405: f"; allowed there: {answer.allow or 'another method'}",
        }.get(status, "")
        raise RefusedError(f"{self.where} refuses {what} (status {status}){advice}{said}")


def _json(raw: bytes) -> Any:
    if not raw.strip():
        return None
    try:
        return json.loads(raw, parse_constant=lambda word: word)  # NaN is no JSON: whoever needs a number sees a text
    except (ValueError, RecursionError):
        return raw.decode("utf-8", "replace")


def _words(body: Any) -> str:
    return body if isinstance(body, str) else json.dumps(body) if body is not None else shown(body)

"""HTTP requests with a deadline, in JSON; what goes wrong becomes a sentence that says what to do next.

The standard library does: the calls are few and block anyway, and there is nothing to install.
"""

import http.client
import json
import ssl
from dataclasses import dataclass
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from adapters.http.requests import HttpConnection
from adapters.http.timed import TimedResponse
from adapters.shared.contact import speaks_tls, tls_words, why_not_reached
from adapters.shared.values import LONGEST_MESSAGE, Deadline, quoted
from tuner.adapter import AdapterError, DeadlineError, LinkError, RefusedError
from tuner.basics.sentences import NOTHING, Sentence, say
from tuner.basics.text import shown

_LATER = (408, 423, 425, 429)  # and all from 500: trying again may help
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
        self.where = say("machine.named", address=settings.base)

    def ask(self, what: str, method: str, path: str, body: Any, deadline: Deadline, timeout_s: float) -> Answer:
        """One request and its answer, whatever its status."""
        left_s = deadline.left_s()
        if left_s == 0:
            raise DeadlineError(self._slow(what, deadline.seconds))
        limit = Deadline(min(left_s, timeout_s))
        headers = {"Accept": "application/json", **self._settings.headers, **self._secrets()}
        data = None if body is None else json.dumps(body, allow_nan=False).encode()
        if data is not None:
            headers.setdefault("Content-Type", "application/json")
        connection = self._connection(limit.left_s())
        response: http.client.HTTPResponse | None = None
        try:
            connection.response_class = partial(TimedResponse, limit)  # type: ignore[assignment]  # it only has to make one
            connection.request(method, self._root + path, data, headers)
            response = connection.getresponse()
            raw = self._body(response)
            return Answer(response.status, _json(raw), response.getheader("Allow", ""))
        except TimeoutError as error:
            raise self._late(what, deadline, timeout_s) from error
        except ssl.SSLError as error:
            raise LinkError(say("http.not_spoken_to", where=self.where, why=tls_words(error))) from error
        except (OSError, http.client.HTTPException) as error:
            why = why_not_reached(self.host, self.port, max(limit.left_s(), 0.05), tls=self.secure)
            if not self.secure and why.code == "contact.wants_tls":
                why = say("http.port_wants_tls", port=self.port)
            raise LinkError(say("machine.no_answer_to", where=self.where, what=what, why=why or str(error))) from error
        finally:
            if response is not None:
                response.close()
            connection.close()

    def _slow(self, what: str, seconds: float) -> Sentence:
        told = say("machine.did_not_answer_to", what=what)
        return say("handshake.too_late", where=self.where, what=told, seconds=seconds)

    def _late(self, what: str, deadline: Deadline, timeout_s: float) -> AdapterError:
        if deadline.left_s() == 0:
            return DeadlineError(self._slow(what, deadline.seconds))
        if not self.secure and speaks_tls(self.host, self.port, min(1.0, deadline.left_s())):
            return LinkError(say("http.wants_tls", where=self.where))
        return LinkError(self._slow(what, timeout_s))

    def _connection(self, timeout_s: float) -> http.client.HTTPConnection:
        if not self.secure:
            return http.client.HTTPConnection(self.host, self.port, timeout=timeout_s)
        tls = self._settings.tls
        try:
            context = ssl.create_default_context(cafile=tls.ca_file if tls else None)
            if tls and tls.certificate_file:
                context.load_cert_chain(tls.certificate_file, tls.key_file)
        except OSError as error:
            raise RefusedError(say("machine.certificates", where=self.where, why=str(error))) from error
        return http.client.HTTPSConnection(self.host, self.port, timeout=timeout_s, context=context)

    def _body(self, response: http.client.HTTPResponse) -> bytes:
        """All of it, unless it has no end."""
        raw = response.read(LONGEST_MESSAGE + 1)
        if len(raw) <= LONGEST_MESSAGE:
            return raw
        raise LinkError(say("http.too_long", where=self.where, most=LONGEST_MESSAGE))

    def _secrets(self) -> dict[str, str]:
        path = self._settings.headers_file
        if path is None:
            return {}
        try:
            if path.stat().st_mode & _OTHERS:
                raise RefusedError(say("http.headers_open", file=str(path)))
            lines = path.read_text("utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise RefusedError(say("http.headers_unread", why=str(error))) from error
        pairs = [line.partition(":") for line in lines if line.strip() and not line.startswith("#")]
        if any(not colon for _, colon, _ in pairs):
            raise RefusedError(say("http.no_header", file=str(path)))
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
        said = say("http.said", text=quoted(_words(answer.body))) if answer.body is not None else ""
        told = {"where": self.where, "what": what, "status": status}
        if status in _LATER or status >= 500:
            raise LinkError(say("http.not_now", **told, said=said))
        if 300 <= status < 400:
            raise RefusedError(say("http.elsewhere", **told))
        advice = {
            401: lambda: say("http.who_asks"),
            403: lambda: say("http.may_not"),
            404: lambda: say("http.nothing_there"),
            405: lambda: say("http.other_method", allowed=answer.allow or "?"),
        }.get(status, lambda: NOTHING)()
        raise RefusedError(say("http.refuses", **told, advice=advice, said=said))


def _json(raw: bytes) -> Any:
    if not raw.strip():
        return None
    try:
        return json.loads(raw, parse_constant=lambda word: word)  # NaN is no JSON: whoever needs a number sees a text
    except (ValueError, RecursionError):
        return raw.decode("utf-8", "replace")


def _words(body: Any) -> str:
    return body if isinstance(body, str) else json.dumps(body) if body is not None else shown(body)

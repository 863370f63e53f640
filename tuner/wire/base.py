"""What both clients share: how they are made, who speaks, and which requests have had no answer."""

import os
from collections import OrderedDict
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Self

from pydantic import BaseModel

from tuner.errors import TunerError
from tuner.wire.asks import Asks
from tuner.wire.endpoint import Link
from tuner.wire.errors import InvalidRequestError
from tuner.wire.exchange import compose
from tuner.wire.keyfiles import ClientKey
from tuner.wire.messages import Request

Body = BaseModel | Mapping[str, Any] | None
_MOST_UNANSWERED = 100


class BaseClient(Asks):
    """Base of the clients.

    Attributes:
        link: Where the daemon is, and our key.
        actor: The person at the client; None: the key's name stands for it.
        find_s: How long to look for a daemon before a request is sent; None: as long as for its answer.
        signs: How many signs of life of the daemon there were: answers, events, beats.
    """

    def __init__(self, link: Link, actor: str | None, find_s: float | None, clock: Callable[[], float]) -> None:
        self.link = link
        self.actor = actor
        self.find_s = find_s
        self.signs = 0
        self._clock = clock
        self._unanswered: OrderedDict[str, Request] = OrderedDict()

    @classmethod
    def connect(
        cls,
        requests: str | None = None,
        events: str | None = None,
        key: ClientKey | Path | None = None,
        actor: str | None = None,
        find_s: float | None = None,
    ) -> Self:
        """A client of the daemon at these endpoints; nothing is sent before the first request.

        Args:
            requests: The endpoint that answers requests; default: the one in the key's file.
            events: The endpoint that publishes events; default: the key's, else the daemon is asked for it.
            key: Who the client is, or the file that says so; over ipc none is needed.
            actor: The person at the client.
            find_s: How long to look for a daemon before a request is sent; default: as long as for its answer.
        """
        if isinstance(key, Path):
            key = ClientKey.load(key)
        where = requests or (key.requests if key else None)
        if where is None:
            raise TunerError("the key's file does not say where the daemon is: give the endpoint of its requests")
        if events is None and key is not None and where == key.requests:
            events = key.events
        return cls._made(Link(where, events, key), actor, find_s)

    @classmethod
    def local(
        cls,
        state_directory: Path | None = None,
        actor: str | None = None,
        environ: Mapping[str, str] | None = None,
        home: Path | None = None,
        find_s: float | None = None,
    ) -> Self:
        """A client of the daemon on this machine that keeps its state in a directory, or in the default one."""
        return cls._made(Link.local(state_directory, environ or os.environ, home or Path.home()), actor, find_s)

    @classmethod
    def _made(cls, link: Link, actor: str | None, find_s: float | None) -> Self:
        raise NotImplementedError

    def unanswered(self) -> tuple[Request, ...]:
        """The latest requests that got no answer, oldest first; each can be asked again by its id."""
        return tuple(self._unanswered.values())

    def _compose(self, op: str, campaign: str | None, body: Body, request_id: str | None) -> Request:
        return compose(op, campaign, self.actor, body, request_id)

    def _again(self, request_id: str) -> Request:
        try:
            return self._unanswered[request_id]
        except KeyError:
            raise InvalidRequestError(f"no request {request_id} of this client is without an answer") from None

    def _keep(self, request: Request) -> None:
        self._unanswered[request.id] = request
        while len(self._unanswered) > _MOST_UNANSWERED:
            self._unanswered.popitem(last=False)

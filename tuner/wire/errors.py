"""What can go wrong between a client and the daemon; each kind answers "would trying again help?"."""

from pydantic import ValidationError

from tuner.basics.sentences import say
from tuner.basics.vocabulary import Status
from tuner.errors import DeniedError, TryAgainError, TunerError, UnreachableError
from tuner.wire.messages import Reply, Request


class InvalidRequestError(TunerError):
    """The request was not sent: its fields are not what the operation needs."""


class ProtocolError(TunerError):
    """What came is not a message of this protocol: another program answers there, or another version."""


class NoReplyError(UnreachableError):
    """No answer came in time.

    Attributes:
        request: What was asked; its id can be asked again.
        sent: Whether it left this process. If not, it has not been done and will not be done later.
    """

    def __init__(self, text: str, request: Request, *, sent: bool) -> None:
        super().__init__(text)
        self.request = request
        self.sent = sent


class ReplyError(TunerError):
    """The daemon answered that it did not do what was asked; the text is the daemon's sentence.

    Attributes:
        reply: The whole answer.
        code: Why, for programs.
    """

    def __init__(self, reply: Reply) -> None:
        super().__init__(reply.text or say("link.unexplained", status=str(reply.status), code=reply.code))
        self.reply = reply
        self.code = reply.code


class RefusedReply(ReplyError):  # noqa: N818 - the protocol's word
    """Refused: as things are, trying again does not help."""


class DeniedReply(ReplyError, DeniedError):  # noqa: N818 - the protocol's word
    """Refused because of the role of the client's key."""


class FailedReply(ReplyError, TryAgainError):  # noqa: N818 - the protocol's word
    """Failed: it was not done, trying again may help."""


def error_of(reply: Reply) -> ReplyError | None:
    """The error that a reply tells of, or None."""
    if reply.status is Status.FAILED:
        return FailedReply(reply)
    if reply.status is Status.REFUSED:
        return DeniedReply(reply) if reply.code == "denied" else RefusedReply(reply)
    return None


def sentence(error: ValidationError) -> str:
    """What is wrong with a message, without its content: the first thing, and where."""
    details = error.errors(include_url=False, include_input=False)[0]
    where = ".".join(str(step) for step in details["loc"])
    return f"{where}: {details['msg']}" if where else details["msg"]

"""Messages about people: who may sign in with PIN or badge, and who is signed in where."""

from typing import Annotated

from pydantic import Field

from tuner.basics.vocabulary import Role
from tuner.wire.messages import Message, Told

Name = Annotated[str, Field(min_length=1, max_length=64)]
Pin = Annotated[str, Field(min_length=1, max_length=64)]
Badge = Annotated[str, Field(min_length=1, max_length=128)]


class PersonBody(Message):
    """A person by name."""

    name: Name = Field(description="of the person, as the journal signs")


class NewPerson(PersonBody):
    """Somebody who may sign in."""

    role: Annotated[Role, Field(strict=False)] = Field(description="what the person may do: viewer, operator, engineer")
    language: Annotated[str, Field(max_length=8)] = Field("", description="of the page for this person, such as de")
    pin: Pin | None = Field(None, description="of 4 to 12 digits; None: set later")
    badge: Badge | None = Field(None, description="what the badge's reader types; None: no badge")


class PinBody(PersonBody):
    """Another PIN."""

    pin: Pin = Field(description="of 4 to 12 digits")


class BadgeBody(PersonBody):
    """Another badge."""

    badge: Badge | None = Field(None, description="what the badge's reader types; None: takes the badge away")


class DisableBody(PersonBody):
    """Whether a person may sign in."""

    disabled: bool = Field(True, description="False: may sign in again")


class OpenBody(Message):
    """Who signs in: a name and a PIN, or a badge alone."""

    name: Name | None = Field(None, description="of the person; None with a badge")
    pin: Pin | None = Field(None, description="the person's; None with a badge")
    badge: Badge | None = Field(None, description="what the badge's reader types; None with a PIN")


class SessionBody(Message):
    """A session by its number."""

    number: int = Field(ge=1, le=2**53, description="of the session, as in `session.list`")


class CheckBody(Message):
    """Sessions that a client keeps for several people."""

    sessions: list[Annotated[str, Field(max_length=64)]] = Field(
        max_length=1000, description="as `session.open` gave them, to a client of this key"
    )


class CheckedBody(Told):
    """The answer to `session.check`."""

    good: list[bool] = Field(description="whether each is still good, in the order that was asked")


class PersonView(Told):
    """A person; secrets are told to nobody."""

    name: str
    role: Role
    language: str
    disabled: bool
    pin: bool = Field(description="whether there is a PIN")
    badge: bool = Field(description="whether there is a badge")
    since: str


class PeopleBody(Told):
    """The answer to `people.list` and to every change of a person."""

    people: list[PersonView]


class Opened(Told):
    """The answer to `session.open`."""

    session: str = Field(description="for the field `session` of later requests; it is a secret")
    number: int
    name: str
    role: Role = Field(description="what the person may do here: never more than the client's own key")
    language: str
    idle_s: float = Field(description="the session ends when nothing was asked in it for so long")
    expires_at: str


class SessionView(Told):
    """Somebody who is signed in."""

    number: int
    name: str
    role: Role = Field(description="the person's; the client's key may do less")
    via: str = Field(description="the client's key; empty: on the daemon's own machine")
    opened_at: str
    used_at: str


class SessionsBody(Told):
    """The answer to `session.list`."""

    sessions: list[SessionView]

"""The node map of a machine that speaks OPC UA, and what can be wrong with it."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from tuner.adapter import AdapterSettings, ParameterInfo
from tuner.basics.text import shown
from tuner.handshake import (
    Code,
    Command,
    Done,
    HandshakeSettings,
    Measurement,
    Parameter,
    Place,
    Signal,
    map_complaints,
    written_places,
)

NODE_ID = re.compile(r"(?:ns=(?P<index>\d+);|nsu=(?P<uri>[^;]+);)?(?P<identifier>i=\d+|s=.+|g=[0-9A-Fa-f-]{36}|b=.+)")


def _node_id(text: str) -> str:
    if not NODE_ID.fullmatch(text):
        raise ValueError(f'{shown(text)} is not a node id; allowed: "s=Press.Speed", "ns=2;i=1001", "nsu=uri;s=Speed"')
    return text


NodeId = Annotated[str, AfterValidator(_node_id)]


class Element(Place):
    """What of a variable's value is meant."""

    index: int | None = Field(None, ge=0, description="one element of an array, counted from 0")
    bit: int | None = Field(None, ge=0, le=63, description="one bit of a control or status word, 0 is the lowest")
    fresh_s: float | None = Field(
        None, gt=0, description="oldest value that counts, by the machine's own timestamps; none: any age"
    )


class Node(Element):
    """One variable of the machine."""

    node: NodeId = Field(description='node id, such as "s=Press.Speed" or "ns=2;i=1001"')


class MeasurementNode(Node, Measurement):
    """A number that the machine measured."""


class ParameterNode(Node, Parameter):
    """Where a parameter is written, and read back."""

    read_node: NodeId | None = Field(None, description="where it is read back; left out: the same node")
    read_index: int | None = Field(None, ge=0, description="element of that array; left out: index")

    @property
    def source(self) -> "ParameterNode":
        """The same scale and codes, at the node where it is read back."""
        index = self.index if self.read_index is None else self.read_index
        return self.model_copy(update={"node": self.read_node or self.node, "index": index})


class SignalNode(Node, Signal):
    """A yes or no: a Boolean, or a variable that has a certain value."""


class CommandNode(Node, Command):
    """A yes or no that tuner writes."""


class DoneNode(Node, Done):
    """The machine's word that the part is finished."""

    pulse: bool = Field(
        False, description="whether it is on for a moment only: tuner subscribes to it and misses no change"
    )


class CodeNode(Node, Code):
    """A variable that tells what is wrong, by a number or a text."""


class Start(Element, Command):
    """A variable that is set, or a method that is called."""

    node: NodeId | None = Field(None, description="variable that tuner sets on and off")
    method: NodeId | None = Field(None, description="method that tuner calls instead")
    object: NodeId | None = Field(None, description="object the method belongs to")
    pass_tag: bool = Field(False, description="whether the method is given the tag, as a String")

    @model_validator(mode="after")
    def _one_of_two(self) -> Self:
        if (self.node is None) == (self.method is None):
            raise ValueError("needs either node or method")
        if (self.method is None) != (self.object is None):
            raise ValueError("method and object belong together")
        if self.pass_tag and self.method is None:
            raise ValueError("pass_tag needs a method")
        return self


class Security(AdapterSettings):
    """Signing and encryption."""

    policy: Literal["Basic256Sha256", "Aes128Sha256RsaOaep", "Aes256Sha256RsaPss"] = Field(
        "Basic256Sha256", description="security policy"
    )
    mode: Literal["Sign", "SignAndEncrypt"] = Field("SignAndEncrypt", description="Sign or SignAndEncrypt")
    certificate_file: Path | None = Field(
        None, description="tuner's certificate; left out, or not there yet: tuner makes one"
    )
    key_file: Path | None = Field(None, description="tuner's private key; left out, or not there yet: tuner makes one")
    server_certificate_file: Path | None = Field(
        None, description="the machine's certificate, any other is refused; tuner adapters check --trust fetches it"
    )
    application_uri: str = Field("urn:process-tuner", description="tuner's name, the same as in its certificate")


class OpcuaConnection(AdapterSettings):
    """How a machine that speaks OPC UA is reached."""

    endpoint: str = Field(pattern=r"^opc\.tcp://[^\s/@]+(/\S*)?$", description='"opc.tcp://host:port/path"')
    namespace: str | None = Field(None, description="URI of the namespace of node ids without ns= or nsu=")
    user: str | None = Field(None, description="left out: anonymous")
    password_file: Path | None = Field(None, description="file with the user's password")
    password_env: str | None = Field(None, description="environment variable with the user's password")
    security: Security | None = Field(None, description="signing and encryption")


class OpcuaSettings(
    OpcuaConnection,
    HandshakeSettings[Start, CommandNode, DoneNode, SignalNode, CodeNode, Node, MeasurementNode, ParameterNode],
):
    """The table `[campaign.adapter.settings]` of a machine that speaks OPC UA."""


def complaints_on(settings: OpcuaSettings, parameters: Sequence[ParameterInfo]) -> list[str]:
    """All that is wrong with a map for these parameters; types are the machine's, and checked when it is asked."""
    passwords = [key for key in (settings.password_file, settings.password_env) if key is not None]
    found = []
    if settings.user is None and passwords:
        found.append("a password needs a user")
    if settings.user is not None and len(passwords) != 1:
        found.append("a user needs either password_file or password_env")
    found += map_complaints(settings, parameters, lambda _: False)
    trial = settings.trial
    if trial.done and trial.done.pulse and trial.done.clear:
        found.append("trial.done has pulse and clear: what is on for a moment only need not be cleared")
    lasts = trial.done is not None and not trial.done.clear
    if trial.start.method and trial.tag and not trial.start.pass_tag and lasts:
        found.append(
            "trial.tag with a start method needs start.pass_tag or done.clear: "
            "else the done of the part before could be taken for this part's"
        )
    written = [(name, place) for name, place in written_places(settings) if isinstance(place, Node | Start)]
    sources = [(f"parameters.{name}", entry.source) for name, entry in settings.parameters.items()]
    return [*found, *_used_twice(written, "written"), *_used_twice(sources, "read back")]


def _used_twice(places: Sequence[tuple[str, Node | Start]], what: str) -> list[str]:
    """Elements of one array and bits of one word do not disturb each other."""
    return [
        f"{name} and {other} are both {what} at {place.node}"
        for i, (name, place) in enumerate(places)
        for other, one in places[:i]
        if place.node is not None
        and place.node == one.node
        and _same(place.index, one.index)
        and _same(place.bit, one.bit)
    ]


def _same(one: int | None, other: int | None) -> bool:
    """Whether two elements, or two bits, are the same; without a number it is all of them."""
    return one is None or other is None or one == other

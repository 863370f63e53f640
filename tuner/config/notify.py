"""The tables `[[notify]]`: who is told what happens, by a command, a webhook or an MQTT topic."""

from pathlib import Path
from typing import Annotated, Literal, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, model_validator

from tuner.basics.text import shown
from tuner.config.section import Complaint, Label, Section, reject

Kind = Literal[
    "question", "proposal", "scrap", "fault", "held", "complete", "stopped", "aborted", "not_home", "lot", "anchor"
]  # fmt: skip


def _url(*schemes: str, path: bool) -> AfterValidator:
    example = f"{schemes[0]}://host{'/path' if path else ''}"

    def check(text: str) -> str:
        try:
            parts = urlsplit(text)
            _ = parts.port
        except ValueError:
            parts = urlsplit("")
        if parts.scheme not in schemes or not parts.hostname or (path and len(parts.path) < 2):
            raise ValueError(f"{shown(text)} is not an address such as {example!r}")
        if parts.password:
            raise ValueError("has a password in it: nobody should read it here; see secret_file")
        return text

    return AfterValidator(check)


class Notify(Section):
    """One receiver."""

    name: Label = Field(description="name of the receiver; what it was told is remembered by it")
    events: tuple[Kind, ...] = Field(
        ("fault", "not_home", "complete"),
        min_length=1,
        description="what is told: a question that waits, a proposal, scrap, a fault, tuning held, complete, stopped "
        "or aborted, a machine that could not return home, another lot; or an anchor: "
        "the journal's head, sealed, every anchor_minutes",
    )
    campaigns: tuple[Label, ...] = Field((), description="of which campaigns; none: of all")
    command: tuple[str, ...] | None = Field(
        None, min_length=1, description="a program and its arguments: the message comes as JSON on its stdin"
    )
    webhook: Annotated[str, _url("https", "http", path=False)] | None = Field(
        None, description="an address that the message is posted to as JSON"
    )
    mqtt: Annotated[str, _url("mqtt", path=True)] | None = Field(
        None, description="a broker and a topic, where the message is published as JSON"
    )
    secret_file: Path | None = Field(None, description="file with the secret that signs a webhook's messages")
    per_hour: int = Field(60, ge=1, le=3600, description="most messages in an hour; how many were left out is told")
    timeout_s: float = Field(10.0, gt=0, le=60, description="how long one message may take")

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        ways = [name for name in ("command", "webhook", "mqtt") if getattr(self, name) is not None]
        if len(ways) != 1:
            reject([Complaint((ways[1] if ways else "command",), "give one of command, webhook and mqtt")])
        if self.secret_file is not None and self.webhook is None:
            reject([Complaint(("secret_file",), "signs the messages of a webhook only")])
        return self

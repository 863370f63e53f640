"""The topics of an MQTT machine: the adapter's settings, and what cannot work about them."""

import re
from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import AfterValidator, Field

from adapters.mqtt.link import BrokerSettings
from adapters.shared.paths import JsonPath, check_fields
from adapters.shared.values import check_template
from tuner.adapter import AdapterSettings, ParameterInfo
from tuner.basics.text import shown

_LONGEST_TOPIC = 65_535  # bytes, a limit of MQTT
_NAME = "{name}"


def _topic(text: str) -> str:
    if not text or re.search(r"[#+\0]", text) or len(text.encode()) > _LONGEST_TOPIC:
        raise ValueError(f"{shown(text)} is not the topic of one message; not allowed: +, # and nothing at all")
    return text


def _plain(text: str) -> str:
    return check_template(_topic(text), ())


def _per_parameter(text: str) -> str:
    return check_template(_topic(text), ("name",))


def _trigger_text(text: str) -> str:
    return check_template(text, ("tag",))


Topic = Annotated[str, AfterValidator(_plain)]
ParameterTopic = Annotated[str, AfterValidator(_per_parameter)]


class Interlock(AdapterSettings):
    """A condition that must hold before a setting is sent."""

    topic: Topic = Field(description="where the machine tells it, best retained")
    holds: str = Field("1", description="the text when it holds")


class ResultWords(AdapterSettings):
    """Results as single words instead of JSON."""

    valid: tuple[str, ...] = Field(("1", "true", "OK"), min_length=1, description="words for a part")
    non_valid: tuple[str, ...] = Field(("0", "false", "NOK"), min_length=1, description="words for no part")
    reason: Topic | None = Field(None, description="where the reason is told, before the result")
    measurements: dict[str, Topic] = Field(
        default_factory=dict, description="where numbers are told, before the result"
    )


class MqttSettings(BrokerSettings):
    """The table `[campaign.adapter.settings]`; a topic with {name} has a single value for each parameter."""

    set: ParameterTopic = Field(description="where we send a setting: as JSON, or with {name} as single values")
    accepted: Topic | None = Field(None, description="where the machine accepts or refuses a setting, by its id")
    ask: Topic | None = Field(None, description="where we ask for the values; none: the machine tells them by itself")
    actual: ParameterTopic = Field(description="where the machine tells its values: JSON, or with {name} single ones")
    names: dict[str, str] = Field(
        default_factory=dict, description="the machine's names of parameters, where different"
    )
    value_path: JsonPath | None = Field(
        None, description='where a single value is in its message, such as "value" in {"value": 200, "ts": ...}'
    )
    set_template: dict[str, Any] | None = Field(
        None, description='what a single value is sent in, such as {value = "{value}"}; none: the value alone'
    )
    trigger: Topic = Field(description="where we ask for a part")
    trigger_text: Annotated[str, AfterValidator(_trigger_text)] | None = Field(
        None, description='what we send there, such as "{tag}"; none: {"tag": ...}'
    )
    result: Topic = Field(description="where the machine tells what came of it")
    result_words: ResultWords | None = Field(None, description="results as single words; none: JSON with the tag")
    status: Topic | None = Field(None, description="where the machine, or its last will, tells whether it is there")
    online: str = Field("online", description="the text on status when it is; any other means that it is not")
    alarm: Topic | None = Field(None, description="where the machine tells an alarm")
    alarm_off: tuple[str, ...] = Field(("", "0", "false", "off"), description="texts on alarm that mean none")
    interlocks: dict[str, Interlock] = Field(default_factory=dict, description="conditions, by name")

    def machine_names(self, parameters: Sequence[ParameterInfo]) -> dict[str, str]:
        """What the machine calls each parameter."""
        return {p.name: self.names.get(p.name, p.name) for p in parameters}

    def actual_topics(self, parameters: Sequence[ParameterInfo]) -> dict[str, str]:
        """Where the machine tells each parameter; all the same if it tells them together."""
        return {name: _for(self.actual, word) for name, word in self.machine_names(parameters).items()}

    def set_topics(self, parameters: Sequence[ParameterInfo]) -> dict[str, str]:
        """Where each parameter is set; all the same if they are set together."""
        return {name: _for(self.set, word) for name, word in self.machine_names(parameters).items()}

    def roles(self, parameters: Sequence[ParameterInfo]) -> list[tuple[str, str]]:
        """What is listened to, by the keys of the settings."""
        words = self.result_words
        found = [(f"actual of {name}", topic) for name, topic in self.actual_topics(parameters).items()]
        named = {"accepted": self.accepted, "result": self.result, "status": self.status, "alarm": self.alarm}
        found += [(name, topic) for name, topic in named.items() if topic is not None]
        if words is not None:
            found += [("result_words.reason", words.reason)] if words.reason else []
            found += [(f"result_words.measurements.{name}", topic) for name, topic in words.measurements.items()]
        return found + [(f"interlocks.{name}", lock.topic) for name, lock in self.interlocks.items()]

    def heard(self, parameters: Sequence[ParameterInfo]) -> list[str]:
        """All topics that we listen to; status last, so that what is retained elsewhere is known before it."""
        words = self.result_words
        topics = [*self.actual_topics(parameters).values(), self.accepted, self.result]
        if words is not None:
            topics += [words.reason, *words.measurements.values()]
        topics += [lock.topic for lock in self.interlocks.values()]
        return [topic for topic in [*topics, self.alarm, self.status] if topic is not None]


def one_by_one(topic: str) -> bool:
    """Whether it has a message for each parameter."""
    return _NAME in topic


def _for(topic: str, name: str) -> str:
    return topic.replace(_NAME, name)


def topic_complaints(settings: MqttSettings, parameters: Sequence[ParameterInfo]) -> list[str]:
    """Topics that cannot work together, and ways to mistake an old message for a new one."""
    names = [parameter.name for parameter in parameters]
    found = [f"names has {shown(name)}, which is no parameter" for name in settings.names if name not in names]
    if settings.ask and not settings.accepted:
        found.append("ask needs accepted: else nobody learns whether the machine has taken a setting")
    if not settings.ask and not settings.status:
        found.append("ask or status is needed: else a retained message of a machine that is gone is read back")
    if settings.accepted and one_by_one(settings.set):
        found.append("accepted needs a set without {name}: single values carry no id that could be accepted")
    if settings.accepted and "id" in settings.machine_names(parameters).values():
        found.append('no parameter may be called "id" by the machine: that is the id of the request')
    if settings.value_path and not one_by_one(settings.actual):
        found.append("value_path needs an actual with {name}: values that come together are found by their names")
    if settings.set_template is not None:
        if not one_by_one(settings.set):
            found.append("set_template needs a set with {name}")
        try:
            check_fields(settings.set_template, ("name", "value"))
        except ValueError as error:
            found.append(f"set_template: {error}")
    heard = set(settings.heard(parameters))
    sent = [*settings.set_topics(parameters).values(), settings.ask, settings.trigger, settings.presence]
    echoed = sorted({topic for topic in sent if topic is not None} & heard)
    found += [f"{shown(topic)} is sent and listened to: we would hear ourselves" for topic in echoed]
    uses = [*set(settings.actual_topics(parameters).values()), settings.result, settings.accepted]
    uses += [settings.alarm, settings.status]
    known = [topic for topic in uses if topic is not None]
    found += [
        f"{shown(topic)} is listened to for two purposes" for topic in sorted(set(known)) if known.count(topic) > 1
    ]
    if settings.password_file and settings.password_variable:
        found.append("password_file and password_variable cannot both be given")
    if (settings.password_file or settings.password_variable) and settings.user is None:
        found.append("a password needs a user")
    return found

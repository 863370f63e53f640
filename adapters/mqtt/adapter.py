"""Machines on an MQTT broker: settings, triggers and results are messages; an old retained one is never a new part."""

import json
import math
import secrets
import time
from collections.abc import Callable, Sequence
from typing import ClassVar, TypeVar

from adapters.mqtt.link import BrokerSettings, MqttLink, Received
from adapters.mqtt.topics import MqttSettings, ResultWords, one_by_one, topic_complaints
from adapters.shared.paths import at, filled, leaves
from adapters.shared.reaching import ReachingAdapter
from adapters.shared.values import (
    AlarmError,
    Deadline,
    deviations,
    no_reason,
    object_from_json,
    outcome_from_json,
    quoted,
    value_from_json,
    value_from_text,
)
from tuner.adapter import (
    AdapterSettings,
    DeadlineError,
    Health,
    Inspected,
    LinkError,
    Offered,
    Outcome,
    ParameterInfo,
    RefusedError,
    Setting,
    Value,
    check_setting,
)
from tuner.basics.address import host_address
from tuner.basics.sentences import Sentence, say

T = TypeVar("T")

_LISTENING = 0.8  # of the time that browsing may take
_RETAINED_S = 1.0  # retained messages come at once after a subscription: who has none after this time has none


class MqttAdapter(ReachingAdapter[MqttSettings]):
    """Speaks with a machine over an MQTT broker, in JSON or single values, on topics from the configuration."""

    Settings: ClassVar[type[AdapterSettings]] = MqttSettings
    Connection: ClassVar[type[AdapterSettings] | None] = BrokerSettings

    def __init__(self, settings: MqttSettings, parameters: Sequence[ParameterInfo]) -> None:
        super().__init__(settings, parameters)
        self._link = MqttLink(settings, settings.heard(parameters))

    @classmethod
    def complaints(cls, settings: MqttSettings, parameters: Sequence[ParameterInfo]) -> Sequence[str]:
        """Topics that cannot work together, and ways to mistake an old message for a new one."""
        return topic_complaints(settings, parameters)

    @classmethod
    def occupies(cls, settings: MqttSettings) -> Sequence[str]:
        """The topics by which the machine is set and started: a broker has many machines."""
        topics = {settings.set.partition("{")[0].rstrip("/") or settings.set, settings.trigger}
        port = settings.port or (8883 if settings.tls else 1883)
        return tuple(host_address(settings.host, port, topic) for topic in sorted(topics))

    @classmethod
    def of_this_host(cls, settings: MqttSettings) -> Sequence[str]:
        """Files, and the variable of a password."""
        return (*super().of_this_host(settings), *(["password_variable"] if settings.password_variable else []))

    @classmethod
    def browse(cls, connection: BrokerSettings, deadline_s: float) -> Sequence[Offered]:
        """The topics that are heard within most of the time, with their last message."""
        link, deadline = MqttLink(connection, ("#",)), Deadline(deadline_s)
        try:
            link.reach(deadline)
            link.listen(Deadline(_LISTENING * deadline.left_s()))
            return [offered(message) for message in link.heard()]
        finally:
            link.close()

    def inspect(self, deadline_s: float) -> Sequence[Inspected]:
        """Every topic that we listen to: whether the broker lets us, and what was heard there."""
        deadline = ReachingAdapter._ready(self, deadline_s)  # noqa: SLF001 - a machine that is away is told by health
        rows = []
        for name, topic in self.settings.roles(self.parameters):
            began_s = time.monotonic()
            self._state(topic, Deadline(min(_RETAINED_S, deadline.left_s())))
            message = self._link.latest(topic)
            text = "nothing heard yet" if message is None else f"heard {quoted(message.payload)}"
            rows.append(Inspected(name, topic, text, took_s=time.monotonic() - began_s))
        sent = {"set": self.settings.set, "ask": self.settings.ask, "trigger": self.settings.trigger}
        told = "sent (MQTT does not tell whether we may)"
        return [*rows, *(Inspected(name, topic, told) for name, topic in sent.items() if topic is not None)]

    def apply(self, setting: Setting, deadline_s: float) -> None:
        """Publish a setting and wait until the machine has accepted it, or has it."""
        setting = check_setting(setting, self.parameters)
        deadline = self._ready(deadline_s)
        since, request = self._link.mark(), _new_id()
        if one_by_one(self.settings.set):
            for name, topic in self.settings.set_topics(self.parameters).items():
                self._link.publish(topic, self._single(name, setting[name]), deadline)
        else:
            names = self.settings.machine_names(self.parameters)
            message = {names[name]: value for name, value in setting.items()}
            if self.settings.accepted:
                message["id"] = request
            self._link.publish(self.settings.set, json.dumps(message), deadline)
        if self.settings.accepted:
            what = say("mqtt.neither")
            self._wait(lambda m: self._accepted(m, request), since, deadline, what)
        if not self.settings.ask:
            self._wait_until_it_has(setting, since, deadline)

    def read_back(self, deadline_s: float) -> dict[str, Value]:
        """Ask for the values, or take the last ones that the machine has told."""
        deadline = self._ready(deadline_s)
        since, request = self._link.mark(), ""
        if self.settings.ask:
            request = _new_id()
            self._link.publish(self.settings.ask, json.dumps({"id": request}), deadline)
        values = self._values(since, request)
        if values is None:
            what = say("mqtt.not_all_values")
            values = self._wait(lambda _: self._values(since, request), since, deadline, what)
        return values

    def run_trial(self, tag: str, deadline_s: float) -> Outcome:
        """Publish the trigger and wait for the result; one that is already there for this tag is that of the part."""
        deadline = self._ready(deadline_s)
        since = self._link.mark()
        made = self._made_before(tag)
        if made is not None:
            return made
        text = self.settings.trigger_text
        payload = json.dumps({"tag": tag}) if text is None else text.format(tag=tag)
        self._link.publish(self.settings.trigger, payload, deadline)
        what = say("mqtt.no_result", tag=tag)
        try:
            return self._wait(lambda m: self._result(m, tag, since), since, deadline, what)
        except AlarmError as error:
            return Outcome(valid=False, reason=say("machine.alarm", alarm=error.alarm))

    def health(self, deadline_s: float) -> Health:
        """The machine's last word on itself, its alarm and its interlocks; what is not known does not hold."""
        if not self._wanted:
            return Health(False, say("adapter.not_open"))
        try:
            deadline = self._ready(deadline_s)
            if self.settings.ask:
                self.read_back(deadline.left_s())  # a sign of life
        except RefusedError as error:
            return Health(False, str(error))
        known_by = Deadline(min(_RETAINED_S, deadline.left_s()))
        interlocks = {
            name: self._state(lock.topic, known_by) == lock.holds for name, lock in self.settings.interlocks.items()
        }
        return Health(True, say("mqtt.well", host=self.settings.host), interlocks)

    def close(self) -> None:
        """Leave the broker."""
        self._wanted = False
        self._link.close()

    def _reach(self, deadline: Deadline) -> None:
        self._link.reach(deadline)

    def _ready(self, deadline_s: float) -> Deadline:
        """Be connected to a machine that is there and has no alarm."""
        deadline = super()._ready(deadline_s)
        if self.settings.status:
            self._link.refresh(deadline)
            state = self._state(self.settings.status, deadline)
            if state is None:
                raise LinkError(say("mqtt.no_status", topic=self.settings.status))
            self._check_status(state)
        alarm = self._link.latest(self.settings.alarm) if self.settings.alarm else None
        if alarm is not None:
            self._check_alarm(_text(alarm))
        return deadline

    def _state(self, topic: str, deadline: Deadline) -> str | None:
        """The last text of a topic; None if there is none by the deadline."""
        since, known = self._link.mark(), self._link.latest(topic)
        if known is None:
            try:
                known = self._link.wait_for(lambda m: m if m.topic == topic else None, since, deadline, topic)
            except DeadlineError:
                return None
        return _text(known)

    def _check_status(self, state: str) -> None:
        if state != self.settings.online:
            raise LinkError(say("mqtt.away", topic=self.settings.status, state=quoted(state)))

    def _check_alarm(self, text: str) -> None:
        if text not in self.settings.alarm_off:
            raise AlarmError(say("mqtt.alarm", alarm=text), text)

    def _wait(self, check: Callable[[Received], T | None], since: int, deadline: Deadline, what: Sentence) -> T:
        """Wait for an answer, and hear if the machine goes away or has an alarm instead."""

        def checked(message: Received) -> T | None:
            if message.topic == self.settings.status:
                self._check_status(_text(message))
            elif message.topic == self.settings.alarm:
                self._check_alarm(_text(message))
            return check(message)

        return self._link.wait_for(checked, since, deadline, what)

    def _accepted(self, message: Received, request: str) -> bool | None:
        if message.topic != self.settings.accepted:
            return None
        answer = object_from_json(message.payload, "the machine")
        if answer.get("id") != request:
            return None
        if "refused" in answer:
            raise RefusedError(say("mqtt.refuses", why=str(answer["refused"] or no_reason())))
        return True

    def _values(self, since: int, request: str = "") -> dict[str, Value] | None:
        """What the machine has told; after a request only what is newer and no answer to another one."""
        names = self.settings.machine_names(self.parameters)
        topics = self.settings.actual_topics(self.parameters)
        values: dict[str, Value] = {}
        for parameter in self.parameters:
            message = self._link.latest(topics[parameter.name])
            if message is None or (request and (message.retained or message.number <= since)):
                return None
            if one_by_one(self.settings.actual):
                values[parameter.name] = self._told(parameter, message)
                continue
            told = object_from_json(message.payload, "the machine")
            if request and told.get("id", request) != request:
                return None
            name = names[parameter.name]
            if name not in told:
                raise LinkError(say("mqtt.without", name=name))
            values[parameter.name] = value_from_json(parameter, told[name])
        return values

    def _single(self, name: str, value: Value) -> str:
        """One value as it is sent."""
        template = self.settings.set_template
        if template is not None:
            word = self.settings.machine_names(self.parameters)[name]
            return json.dumps(filled(template, {"name": word, "value": value}))
        return value if isinstance(value, str) else json.dumps(value)

    def _told(self, parameter: ParameterInfo, message: Received) -> Value:
        """One value as it was told: alone, or at a path of its message."""
        path = self.settings.value_path
        if path is None:
            return value_from_text(parameter, _text(message))
        who = f"the message on {message.topic}"
        return value_from_json(parameter, at(object_from_json(message.payload, "the machine"), path, who))

    def _wait_until_it_has(self, setting: Setting, since: int, deadline: Deadline) -> None:
        """Wait until the values that the machine tells by itself are those of the setting."""

        def off() -> list[Sentence]:
            values = self._values(0)
            return [say("mqtt.no_values")] if values is None else deviations(setting, values, self.parameters)

        if off():
            try:
                self._wait(lambda _: None if off() else True, since, deadline, say("mqtt.not_taken"))
            except DeadlineError as error:
                raise DeadlineError(say("mqtt.off", why=str(error), what=off())) from error

    def _made_before(self, tag: str) -> Outcome | None:
        """The part with this tag if the machine has already told of it."""
        known = self._link.latest(self.settings.result)
        if known is None or self.settings.result_words is not None:
            return None
        try:
            return self._result(known, tag, 0)
        except LinkError:  # what lies there from before need not be sense
            return None

    def _result(self, message: Received, tag: str, since: int) -> Outcome | None:
        if message.topic != self.settings.result:
            return None
        if self.settings.result_words is not None:
            return None if message.retained else self._worded(message, self.settings.result_words, since)
        result = object_from_json(message.payload, "the machine")
        if not isinstance(result.get("tag"), str):
            raise LinkError(say("mqtt.no_tag", text=quoted(message.payload)))
        return outcome_from_json(result, "the machine") if result["tag"] == tag else None

    def _worded(self, message: Received, words: ResultWords, since: int) -> Outcome:
        """A result in words, with what was told on the way to it."""

        def since_trigger(topic: str | None) -> str:
            told = self._link.latest(topic) if topic else None
            return "" if told is None or told.retained or told.number <= since else _text(told)

        word = _text(message)
        if word in words.non_valid:
            return Outcome(False, since_trigger(words.reason) or no_reason())
        if word not in words.valid:
            raise LinkError(say("mqtt.other_result", text=quoted(word)))
        told = {name: since_trigger(topic) for name, topic in words.measurements.items()}
        return Outcome(True, measurements={name: _number(name, text) for name, text in told.items() if text})


def offered(message: Received) -> Offered:
    """A topic, with the paths into its message if that is JSON."""
    try:
        found = json.loads(message.payload)
    except (ValueError, RecursionError):
        found = None
    paths = [path for path, _ in leaves(found) if path] if isinstance(found, dict | list) else []
    kind = f"JSON: {', '.join(paths[:8])}" if paths else "one value"
    return Offered(message.topic, "", kind, "retained" if message.retained else "", quoted(message.payload))


def _new_id() -> str:
    return secrets.token_hex(8)  # tells one request from another


def _text(message: Received) -> str:
    return message.payload.decode("utf-8", "replace").strip()


def _number(name: str, text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise LinkError(say("machine.measurement", name=name, text=text))
    return number

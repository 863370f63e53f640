"""A machine on a real MQTT broker on loopback, and the topics to reach it."""

import json
import os
import shutil
import socket
import subprocess
import threading
from pathlib import Path

import paho.mqtt.client as paho
import pytest

from adapters.shared.values import Deadline
from tests.patience import PATIENT_S
from tuner.adapter import ParameterInfo

ROOT = Path(__file__).parents[3]
SPEED = ParameterInfo("speed", "integer", 120, 60, 240)
HEAT = ParameterInfo("heat", "continuous", 180.0, 120.0, 260.0, tolerance=0.001)
COLOUR = ParameterInfo("colour", "choice", "red", choices=("red", "blue"))
GOOD = {"speed": 120, "heat": 180.0}
OTHER = {"speed": 100, "heat": 170.5}
PROGRAMS = os.environ["PATH"] + ":/usr/sbin"  # where Debian keeps brokers, and not all users look
TALK = {"set": "m/set", "accepted": "m/accepted", "ask": "m/ask", "actual": "m/actual"}
TALK |= {"trigger": "m/trigger", "result": "m/result"}
VALUES = {"set": "m/set/{name}", "actual": "m/actual/{name}", "trigger": "m/trigger", "result": "m/result"}
VALUES |= {"status": "m/status"}


class Broker:
    """A mosquitto of our own on a free port."""

    def __init__(self, directory, *options):
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.config = directory / "mosquitto.conf"
        who = ("user root",) if os.getuid() == 0 else ()
        lines = (
            f"listener {self.port} 127.0.0.1",
            "log_dest stderr",
            "set_tcp_nodelay true",
            *who,
            *(options or ("allow_anonymous true",)),
        )
        self.config.write_text("\n".join(lines))
        self.start()

    def start(self):
        program = shutil.which("mosquitto", path=PROGRAMS)
        if program is None:
            pytest.skip("needs the broker mosquitto (Debian: apt-get install mosquitto)")
        self.process = subprocess.Popen([program, "-c", str(self.config)], stderr=subprocess.PIPE, text=True)
        said = []
        while not said or "running" not in said[-1]:
            said.append(self.process.stderr.readline())
            assert said[-1], f"mosquitto ended: {said}"
        # nobody reads what it says later, and it must not wait for that
        self.drain = threading.Thread(target=self.process.stderr.read)
        self.drain.start()

    def stop(self):
        self.process.kill()  # a polite signal is lost if it comes just when mosquitto says that it is running
        self.process.wait(PATIENT_S)
        self.drain.join(PATIENT_S)
        self.process.stderr.close()


class Machine:
    """A machine on the broker, with its last will; it knows both ways to be spoken to."""

    def __init__(self, port):
        self.port = port
        self.values = {"speed": 0, "heat": 0.0, "colour": "red"}
        self.parts = {}
        self.received = []
        self.special = {}  # topic -> what to do with a message instead of the usual
        self.mute = False
        self.start()

    def start(self):
        self.client = paho.Client(paho.CallbackAPIVersion.VERSION2)
        self.client.on_message = self._hear
        self.client.will_set("m/status", "offline", 1, retain=True)
        ready = threading.Event()
        self.client.on_subscribe = lambda *_: ready.set()
        self.client.on_connect = lambda client, *_: client.subscribe([("m/set/#", 1), ("m/ask", 1), ("m/trigger", 1)])
        self.client.connect("127.0.0.1", self.port)
        self.client.loop_start()
        assert ready.wait(PATIENT_S)
        for name, value in self.values.items():
            self.tell(f"m/actual/{name}", value, retain=True)
        self.tell("m/status", "online", retain=True)

    def stop(self):
        self.client.disconnect()
        self.client.loop_stop()

    def die(self):
        """Without a goodbye: the broker publishes the last will."""
        self.client.loop_stop()
        self.client.socket().shutdown(socket.SHUT_RDWR)
        self.client.socket().close()

    def tell(self, topic, message, retain=False):
        text = message if isinstance(message, str | bytes) else json.dumps(message)
        self.client.publish(topic, text, 1, retain).wait_for_publish(PATIENT_S)

    def _hear(self, client, _, message):
        text = message.payload.decode()
        self.received.append((message.topic, text))
        if self.mute:
            return
        if message.topic in self.special:
            for topic, answer, *retain in self.special[message.topic](text):
                payload = answer if isinstance(answer, str) else json.dumps(answer)
                client.publish(topic, payload, 1, bool(retain))
        else:
            self.work(client, message.topic, text)

    def work(self, client, topic, text):
        if topic == "m/set":
            setting = json.loads(text)
            request = setting.pop("id", None)
            self.values |= setting
            client.publish("m/accepted", json.dumps({"id": request}), 1)
        elif topic == "m/ask":
            client.publish("m/actual", json.dumps({**self.values, **json.loads(text)}), 1)
        elif topic == "m/trigger":
            tag = json.loads(text)["tag"]
            made = {"tag": tag, "valid": True, "measurements": {"number": len(self.parts)}}
            client.publish("m/result", json.dumps(self.parts.setdefault(tag, made)), 1, retain=True)
        else:
            self.values[topic.removeprefix("m/set/")] = text
            client.publish(topic.replace("set", "actual"), text, 1, retain=True)


def until_heard(adapter, topic, payload, since):
    """Wait until a message has reached the adapter: the broker's confirmation to its sender is no proof of that."""
    adapter._link.wait_for(
        lambda m: (m.topic, m.payload) == (topic, payload) or None, since, Deadline(PATIENT_S), topic
    )

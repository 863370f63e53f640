// The press as a client of a broker, with mqtt.js: node mqtt.js MEMORY PORT
"use strict";
const mqtt = require("mqtt");
const { Press, tell } = require("./press");

const [memory, port] = process.argv.slice(2);
const press = new Press(memory);
const m = press.memory;
const client = mqtt.connect(`mqtt://127.0.0.1:${port}`, {
  clientId: "press", will: { topic: "press/status", payload: "offline", retain: true, qos: 1 }, reconnectPeriod: 500,
});
const say = (topic, message, retain = false) =>
  client.publish(`press/${topic}`, typeof message === "string" ? message : JSON.stringify(message), { qos: 1, retain });

const told = {}; // what was retained last: only changes are sent
const keep = (topic, message) => {
  if (told[topic] === message) return;
  told[topic] = message;
  say(topic, message, true);
};
const result = () => ({
  tag: m.made, valid: m.valid, ...(m.valid ? { measurements: { objective: m.objective } } : { reason: m.reason }),
});

press.scanned = () => {
  keep("guard", press.guard ? "closed" : "open");
  keep("ready", press.ready ? "yes" : "no");
};
press.finished = () => say("result", result(), true);

client.on("connect", () => {
  client.subscribe(["press/set", "press/ask", "press/trigger"], { qos: 1 }, () => {
    say("status", "online", true);
    tell("serves");
  });
});
client.on("message", (topic, payload) => {
  const message = JSON.parse(payload);
  if (topic === "press/set") {
    const { id, ...values } = message;
    for (const [name, value] of Object.entries(values)) press.write(name, value);
    say("accepted", { id });
  } else if (topic === "press/ask") {
    say("actual", { id: message.id, ...m.actual });
  } else if (m.made === message.tag) {
    say("result", result(), true);
  } else {
    press.order(message.tag);
  }
});

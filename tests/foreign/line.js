// A line controller with zeromq.js and CURVE: node line.js MEMORY ADDRESS TUNER_PUBLIC OWN_PUBLIC OWN_SECRET
// It connects to tuner (mode "listen"), asks for jobs and reports; docs/line.md says what it must do.
"use strict";
const { Request } = require("zeromq");
const { Press, tell } = require("./press");

const [memory, address, curveServerKey, curvePublicKey, curveSecretKey] = process.argv.slice(2);
const press = new Press(memory);
const m = press.memory;
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

function work(job) {
  if (job.do === "health") {
    const ok = press.ready;
    return { state: "health", ok, text: ok ? "ready" : "the press is not ready", interlocks: { guard: press.guard } };
  }
  if (job.do === "read_back") return { state: "setting", setting: { ...m.actual } };
  if (job.do === "apply") {
    for (const [name, value] of Object.entries(job.setting)) press.write(name, value);
    return { state: "applied" };
  }
  press.order(job.tag);
  if (m.busy) return { state: "running" };
  return m.valid ? { state: "valid", measurements: { objective: m.objective } } : { state: "non-valid", reason: m.reason };
}

async function ask(socket, op, body) {
  await socket.send(JSON.stringify({ v: 1, id: 1, op, body }));
  return JSON.parse((await socket.receive())[0]);
}

async function serve() {
  const socket = new Request({ curveServerKey, curvePublicKey, curveSecretKey, receiveTimeout: 4000, sendTimeout: 4000, linger: 0 });
  socket.connect(address);
  try {
    for (;;) {
      let reply = await ask(socket, "next", {});
      const job = reply.body;
      let report = { state: "running" };
      while (job && job.job && report.state === "running") {
        report = { job: job.job, ...work(job) };
        reply = await ask(socket, "report", report);
        if (report.state === "running") await pause(100);
      }
      if (reply.error) await pause(1000);
    }
  } catch (error) {
    if (error.code !== "EAGAIN") throw error; // no answer: a new socket, because the old one would still wait for it
  } finally {
    socket.close();
  }
}

(async () => {
  tell("serves");
  for (;;) await serve();
})();

// The press behind modbus-serial: node modbus.js MEMORY PORT
// Holding registers: 100 temperature (tenths), 102 speed (float32), 104 pressure, 120 tag (8 registers).
// Input registers: the same three as the machine has them, 20 reason, 30 objective (float32), 60 made (8 registers).
// Coil 0 start. Discrete inputs: 0 done, 1 valid, 2 busy, 3 ready, 8 guard closed.
"use strict";
const { ServerTCP } = require("modbus-serial");
const { Press, tell } = require("./press");

const [memory, port] = process.argv.slice(2);
const press = new Press(memory);
const m = press.memory;
const holding = Buffer.alloc(400);

const put = (buffer, values) => {
  buffer.writeInt16BE(Math.round(values.temperature * 10), 200);
  buffer.writeFloatBE(values.speed, 204);
  buffer.writeUInt16BE(values.pressure, 208);
};
put(holding, m.set);
holding.write(m.tag, 240, 16, "latin1");

const inputs = () => {
  const buffer = Buffer.alloc(400);
  put(buffer, m.actual);
  buffer.writeUInt16BE(m.reason ? 1 : 0, 40);
  buffer.writeFloatBE(m.objective, 60);
  buffer.write(m.made, 120, 16, "latin1");
  return buffer;
};

// one call for each request, with all of its registers
const written = (address, values) => {
  values.forEach((value, place) => holding.writeUInt16BE(value, 2 * (address + place)));
  if (address === 100) press.write("temperature", holding.readInt16BE(200) / 10);
  if (address === 102) press.write("speed", holding.readFloatBE(204));
  if (address === 104) press.write("pressure", holding.readUInt16BE(208));
  if (address === 120) press.command("tag", holding.toString("latin1", 240, 256).replace(/\0+$/, ""));
};

const server = new ServerTCP({
  getHoldingRegister: (address) => holding.readUInt16BE(2 * address),
  getInputRegister: (address) => inputs().readUInt16BE(2 * address),
  getCoil: () => m.start,
  getDiscreteInput: (address) => [m.done, m.valid, m.busy, press.ready][address] ?? press.guard,
  setCoil: (address, value) => press.command("start", value),
  setRegister: (address, value) => written(address, [value]),
  setRegisterArray: written,
}, { host: "127.0.0.1", port: Number(port), unitID: 1 });
server.on("initialized", () => tell("serves"));

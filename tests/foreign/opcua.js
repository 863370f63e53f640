// The press behind node-opcua: node opcua.js MEMORY PORT KEYS
"use strict";
const path = require("path");
const { DataType, OPCUACertificateManager, OPCUAServer, StatusCodes, Variant } = require("node-opcua");
const { Press, tell } = require("./press");

const [memory, port, keys] = process.argv.slice(2);

async function main() {
  const press = new Press(memory);
  const server = new OPCUAServer({
    port: Number(port),
    serverCertificateManager: new OPCUACertificateManager({
      rootFolder: path.join(keys, "server"), automaticallyAcceptUnknownCertificate: true,
    }),
    userCertificateManager: new OPCUACertificateManager({ rootFolder: path.join(keys, "user") }),
  });
  await server.initialize();
  const space = server.engine.addressSpace;
  const own = space.registerNamespace("urn:example:press");
  const folder = own.addFolder(space.rootFolder.objects, { browseName: "Press" });

  const add = (name, dataType, get, set) =>
    own.addVariable({
      componentOf: folder, browseName: name, nodeId: `s=${name}`, dataType, minimumSamplingInterval: 50,
      accessLevel: set ? "CurrentRead | CurrentWrite" : "CurrentRead",
      userAccessLevel: set ? "CurrentRead | CurrentWrite" : "CurrentRead",
      value: {
        get: () => new Variant({ dataType, value: get() }),
        set: set && ((variant) => { set(variant.value); return StatusCodes.Good; }),
      },
    });
  const m = press.memory;
  for (const [name, type] of [["temperature", DataType.Double], ["speed", DataType.Float], ["pressure", DataType.UInt16]]) {
    add(`Set.${name}`, type, () => m.set[name], (value) => press.write(name, value));
    add(`Actual.${name}`, type, () => m.actual[name]);
  }
  add("Start", DataType.Boolean, () => m.start, (value) => press.command("start", value));
  add("Tag", DataType.String, () => m.tag, (value) => press.command("tag", value));
  add("Made", DataType.String, () => m.made);
  add("Busy", DataType.Boolean, () => m.busy);
  add("Done", DataType.Boolean, () => m.done);
  add("Pulse", DataType.Boolean, () => press.pulse);
  add("Valid", DataType.Boolean, () => m.valid);
  add("Reason", DataType.String, () => m.reason);
  add("Objective", DataType.Double, () => m.objective);
  add("Ready", DataType.Boolean, () => press.ready);
  add("Guard", DataType.Boolean, () => press.guard);
  await server.start();
  tell("serves");
}

main();

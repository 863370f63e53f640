// Checks messages with ajv in strict mode: node schema.js GIVEN
// GIVEN is a file with the document of `tuner schema`, the messages of a campaign, and good and bad requests.
"use strict";
const fs = require("fs");
const Ajv = require("ajv/dist/2020");
const formats = require("ajv-formats");

const { document, traffic, good, bad } = JSON.parse(fs.readFileSync(process.argv[2]));
const ajv = new Ajv({ strict: true });
formats(ajv);
const any = ajv.compile(document);
const of = (name) => ajv.getSchema(`${document.$id}#/$defs/${name}`);

const wrong = traffic.filter(([kind, message]) => !of(kind)(message)).map(([kind]) => [kind, of(kind).errors]);
for (const one of good) if (!of("Request")(one) || !any(one)) wrong.push(["good", one, of("Request").errors]);
for (const one of bad) if (of("Request")(one)) wrong.push(["bad", one]);
console.log(JSON.stringify({ checked: traffic.length + good.length + bad.length, wrong }));

// The press behind every server of this folder, programmed as docs/adapters/handshake.md says: a scan of 100 ms (PRESS_SCAN_MS) copies
// what was set, makes one part on the rising edge of start, and is not ready for a while after each part.
// Its memory is a file, as the retained memory of a PLC: a part goes on while the program is down.
// stdout has a line of JSON for each write and each part, with a clock that all processes of the computer share;
// stdin takes lines of JSON that change the press from outside, such as {"guard": false}, {"copies": false}
// or {"by_hand": {"pressure": 500}}.
"use strict";
const fs = require("fs");
const readline = require("readline");

const SCAN_MS = Number(process.env.PRESS_SCAN_MS || 100);
const PART_S = 1.0;
const NOT_READY_S = 3.0;
const HOME = { temperature: 230, speed: 80, pressure: 400 };

const now = () => Number(process.hrtime.bigint()) / 1e9;
// written at once: nothing is lost when the process is killed
const tell = (event, more = {}) => fs.writeSync(1, JSON.stringify({ at_s: now(), event, ...more }) + "\n");

class Press {
  constructor(file) {
    this.file = file;
    this.copies = true; // whether a scan takes what was set
    this.guard = true;
    this.pulse = false;
    this.stalls_s = 0; // how long the whole program hangs at the next write
    this.memory = fs.existsSync(file) ? JSON.parse(fs.readFileSync(file)) : {
      set: { ...HOME }, actual: { ...HOME }, start: false, tag: "", made: "", current: "", edge: false, busy: false,
      done: false, valid: false, reason: "", objective: 0, ends_s: 0, ready_s: 0,
    };
    this.saved = "";
    this.save();
    readline.createInterface({ input: process.stdin }).on("line", (line) => this.from_outside(JSON.parse(line)));
    setInterval(() => this.scan(), SCAN_MS);
  }

  // what somebody does at the machine itself
  from_outside({ by_hand = {}, ...more }) {
    Object.assign(this.memory.set, by_hand);
    Object.assign(this.memory.actual, by_hand);
    Object.assign(this, more);
    tell("from_outside");
  }

  get ready() {
    return now() >= this.memory.ready_s && !this.memory.busy;
  }

  // what a client writes counts, and is told, at once; the machine has it after the next scan
  write(name, value) {
    if (this.stalls_s) {
      // a controller that hangs, and goes on with what it was sent before
      tell("stalls");
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, this.stalls_s * 1000);
      this.stalls_s = 0;
    }
    tell("write", { name, value, ready: this.ready });
    this.memory.set[name] = value;
    this.save();
  }

  // the other words that a client writes: start and tag
  command(name, value) {
    this.memory[name] = value;
    this.save();
  }

  // a machine without scan and handshake words is told to make a part; a tag that it knows is no new part
  order(tag) {
    const m = this.memory;
    if (m.tag === tag && (m.busy || m.made === tag)) return;
    this.command("tag", tag);
    this.begin();
  }

  begin() {
    const m = this.memory;
    Object.assign(m, { busy: true, done: false, current: m.tag, ends_s: now() + PART_S });
    this.save(); // first the note, then the machine
    tell("part", { tag: m.current, setting: { ...m.actual } });
  }

  scan() {
    const m = this.memory;
    if (this.copies) Object.assign(m.actual, m.set);
    const rises = m.start && !m.edge;
    m.edge = m.start;
    if (rises && this.ready) this.begin();
    if (!m.start) m.done = false;
    this.pulse = m.busy && now() >= m.ends_s; // done for those who look often: on for one scan
    if (this.pulse) {
      const { temperature, speed, pressure } = m.actual;
      m.valid = temperature <= 250;
      m.reason = m.valid ? "" : "burnt";
      m.objective = ((temperature - 215) / 30) ** 2 + ((speed - 100) / 60) ** 2 + ((pressure - 500) / 200) ** 2;
      Object.assign(m, { made: m.current, busy: false, ready_s: now() + NOT_READY_S, done: true });
      tell("made", { tag: m.made, valid: m.valid });
      if (this.finished) this.finished();
    }
    this.save();
    if (this.scanned) this.scanned();
  }

  save() {
    const text = JSON.stringify(this.memory);
    if (text === this.saved) return;
    fs.writeFileSync(this.file + ".new", text);
    fs.renameSync(this.file + ".new", this.file);
    this.saved = text;
  }
}

module.exports = { Press, tell };

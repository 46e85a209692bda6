// Perfetto's trace processor, as its UI runs it in a worker, on standard input and output:
// node trace_processor.js FOLDER, where FOLDER has engine_bundle.js and the WebAssembly.
"use strict";
const fs = require("fs");
const path = require("path");
const vm = require("vm");

const folder = process.argv[2];
Object.defineProperty(process, "type", { value: "renderer" }); // it refuses to run where it finds Node
globalThis.self = globalThis;
globalThis.location = { href: "http://localhost/engine_bundle.js" };
globalThis.WorkerGlobalScope = function () {};
globalThis.XMLHttpRequest = class {
  open(method, name) {
    this.name = name;
  }
  send() {
    this.response = new Uint8Array(fs.readFileSync(path.join(folder, path.basename(this.name)))).buffer;
  }
};
console.log = console.warn = console.error;
vm.runInThisContext(fs.readFileSync(path.join(folder, "engine_bundle.js"), "utf8"));

const port = { postMessage: (reply) => fs.writeSync(1, reply) };
globalThis.onmessage({ data: port });
process.stdin.on("data", (chunk) => port.onmessage({ data: new Uint8Array(chunk) }));

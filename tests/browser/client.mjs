// The WebAssembly client in Node, for client_checks.py: carries out the steps of a JSON file and writes JSON of results.
//   node client.mjs LATTICINO_WASM STEPS [SEED]
// SEED (64 hex digits) takes the place of the browser's generator: this process alone, for files to compare.
import { readFileSync, writeFileSync } from "node:fs";
import { webcrypto } from "node:crypto";
import { load } from "../../web/latticino.mjs";

globalThis.crypto ??= webcrypto;  // Node 18
const [wasm, steps, seed] = process.argv.slice(2);
if (seed) {
  const bytes = Uint8Array.from(Buffer.from(seed, "hex"));
  Object.defineProperty(globalThis.crypto, "getRandomValues", {
    value: (out) => { for (let i = 0; i < out.length; ++i) out[i] = bytes[i % bytes.length]; return out; },
  });
}

const module = await load(readFileSync(wasm));
let client = null;
const ARRAYS = { f64: Float64Array, u8: Uint8Array, u16: Uint16Array, u32: Uint32Array, u64: BigUint64Array };

const actions = {
  make: ({ params }) => { client = module.makeClient(params); return client.info; },
  load: ({ params, file, passphrase }) => {
    client = module.loadClient(params, readFileSync(file), passphrase);
    return client.info;
  },
  keys: ({ to, ...options }) => {
    const pieces = [], progress = [];
    const began = performance.now();
    const whole = client.serverKeys({ ...options, onPiece: options.pieces ? (p) => pieces.push(p) : null,
                                      onProgress: (done, total) => progress.push([done, total]) });
    const bytes = whole ?? Buffer.concat(pieces);
    writeFileSync(to, bytes);
    return { bytes: bytes.length, pieces: pieces.length, progress, ms: performance.now() - began, memory: module.memoryBytes };
  },
  encrypt: ({ to, values, array, ...options }) => {
    const began = performance.now();
    const bytes = client.encrypt(array ? ARRAYS[array].from(array === "u64" ? values.map(BigInt) : values) : values, options);
    writeFileSync(to, bytes);
    return { bytes: bytes.length, ms: performance.now() - began };
  },
  decrypt: ({ file }) => {
    const began = performance.now();
    const { type, shape, values } = client.decrypt(readFileSync(file));
    const ms = performance.now() - began;
    return { type, shape, values: [...values].map(Number), array: values.constructor.name, ms };
  },
  save: ({ to, passphrase }) => { writeFileSync(to, client.saveSecretKey(passphrase)); return null; },
  close: () => client.close(),
};

const results = [];
for (const { action, ...options } of JSON.parse(readFileSync(steps))) {
  try {
    results.push({ result: actions[action](options) ?? null });
  } catch (error) {
    results.push({ error: { name: error.name, message: error.message, typed: error instanceof Error } });
  }
}
console.log(JSON.stringify(results));

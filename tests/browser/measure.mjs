// Sizes and times of the WebAssembly client in Node, in CPU time: node measure.mjs LATTICINO_WASM SET_FILE...
// A set file holds the canonical text of a set (params.canonical_text()). Prints a line of JSON for each set.
import { readFileSync } from "node:fs";
import { webcrypto } from "node:crypto";
import { gzipSync } from "node:zlib";
import { load } from "../../web/latticino.mjs";

globalThis.crypto ??= webcrypto;  // Node 18
const [wasm, ...sets] = process.argv.slice(2);
const bytes = readFileSync(wasm);
console.log(JSON.stringify({ name: "wasm_module", value: bytes.length, unit: "bytes", gzip_bytes: gzipSync(bytes, { level: 9 }).length }));

// Milliseconds of CPU, the least of several runs.
function timed(work, runs = 1) {
  let least = Infinity, result;
  for (let i = 0; i < runs; ++i) {
    const before = process.cpuUsage();
    result = work();
    const { user, system } = process.cpuUsage(before);
    least = Math.min(least, (user + system) / 1000);
  }
  return [Math.round(10 * least) / 10, result];
}

for (const set of sets) {
  const module = await load(bytes), [makeMs, client] = timed(() => module.makeClient(readFileSync(set, "utf8")));
  const tfhe = client.info.scheme === "TFHE";
  const values = tfhe ? Uint8Array.from({ length: 1000 }, (_, i) => i) : Float64Array.from({ length: client.info.slots }, (_, i) => Math.sin(i));
  const options = tfhe ? { type: client.info.messageBits ? "u8" : "bool" } : {};
  const input = tfhe && !client.info.messageBits ? Array.from(values, (x) => x % 2 === 1) : values;
  const [encryptMs, file] = timed(() => client.encrypt(input, options), 5);
  const [decryptMs] = timed(() => client.decrypt(file), 5);
  let keyBytes = 0;
  const keys = tfhe ? {} : { relinearize: client.info.level, "galois(5)": client.info.level };
  const [keysMs] = timed(() => client.serverKeys({ keys, onPiece: (piece) => { keyBytes += piece.length; } }));
  console.log(JSON.stringify({
    name: "wasm_client.encryption", value: encryptMs, unit: "ms", preset: client.info.name, params: { values: values.length, keys: Object.keys(keys).length || "all" },
    make_ms: makeMs, decrypt_ms: decryptMs, keys_ms: keysMs, file_bytes: file.length,
    key_bytes: keyBytes, memory_bytes: module.memoryBytes,
  }));
}

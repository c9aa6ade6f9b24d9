// What web/service.mjs does with answers of a service that is full, away or silent: node service_link.mjs. It needs no build.
// `fetch` and the clock are this program's: every pause ends at once and is noted.
import assert from "node:assert/strict";
import { webcrypto } from "node:crypto";

globalThis.crypto ??= webcrypto;  // Node 18
const { connect } = await import("../../web/service.mjs");

const BASE = "http://127.0.0.1:1", CHUNK = 8 * 2 ** 20, seen = [], slept = [];
let answers = [];
const real = { setTimeout: globalThis.setTimeout, clearTimeout: globalThis.clearTimeout };
globalThis.clearTimeout = (timer) => real.clearTimeout(timer);
globalThis.setTimeout = (call, ms) => {
  if (ms >= 80_000 && call.toString().includes("abort")) return real.setTimeout(call, 50);  // silence is over soon
  slept.push(ms / 1000);
  return real.setTimeout(call, 0);
};
globalThis.fetch = (address, request) => {
  seen.push([request.method, address.pathname, request.body]);
  const answer = answers.shift();
  if (answer === undefined) throw new Error("no answer is left");
  if (answer === "breaks") return Promise.reject(new TypeError("connection refused"));
  if (answer === "silent") {
    return new Promise((_, reject) => request.signal.addEventListener("abort", () => reject(request.signal.reason)));
  }
  const [status, headers, body] = answer;
  return Promise.resolve(new Response(typeof body === "string" || body instanceof Uint8Array ? body : JSON.stringify(body), { status, headers }));
};
const ask = () => connect(BASE, "t", "none");  // which has that model is refused after the first answer
const EMPTY = [200, {}, { models: [] }];

async function after(...given) {
  [answers, seen.length, slept.length] = [[...given], 0, 0];
  return assert.rejects(ask(), (why) => { ask.message = why.message; return why.name === "ServiceError"; });
}

// A time that is named is waited for, and not the same one by all.
await after([429, { "Retry-After": "7" }, {}], [503, { "Retry-After": "100" }, {}], EMPTY);
assert.equal(seen.length, 3);
assert.ok(slept[0] >= 7 && slept[0] <= 8.75 && slept[1] >= 100 && slept[1] <= 125, String(slept));
await after(...Array(20).fill([429, { "Retry-After": "20" }, {}]), EMPTY);
assert.ok(seen.length === 21 && Math.min(...slept) >= 20 && new Set(slept).size === 20, String(slept));
await after([429, { "Retry-After": "601" }, { message: "jobs: had x" }]);
assert.ok(seen.length === 1 && slept.length === 0 && ask.message === "jobs: had x");

// No time, a connection that breaks, or one that stays silent: ever longer pauses, five tries.
for (const kind of ["breaks", "silent", [503, {}, "full"], [429, { "Retry-After": "soon" }, "full"]]) {
  await after(kind, kind, kind, kind, EMPTY);
  assert.equal(seen.length, 5);
  slept.forEach((pause, i) => assert.ok(pause >= 0.1 * 2 ** (i + 1) && pause <= 0.2 * 2 ** (i + 1), `${kind}: ${slept}`));
  await after(kind, kind, kind, kind, kind, EMPTY);
  assert.ok(seen.length === 5 && answers.length === 1, String(kind));
}
await after([404, { "Retry-After": "1" }, { message: "models: had x" }], EMPTY);
assert.ok(seen.length === 1 && ask.message === "models: had x");

// Pieces that the service has lost between their upload and the commit are sent again.
const head = { scheme: "ckks", scalars: [], params: "00", plan: { key_names: [], key_levels: [] }, inputs: [] };
const text = new TextEncoder().encode(JSON.stringify(head)), file = new Uint8Array(20 + text.length + 32);
file.set(new TextEncoder().encode("LTPROGRM"));
new DataView(file.buffer).setUint32(8, 1, true);
new DataView(file.buffer).setBigUint64(12, BigInt(text.length), true);
file.set(text, 20);
file.set(new Uint8Array(await crypto.subtle.digest("SHA-256", file.subarray(0, 20 + text.length))), 20 + text.length);
const part = [200, {}, file];
[answers, seen.length] = [[[200, {}, { models: [{ name: "m" }] }], part], 0];
const service = await connect(BASE, "t").catch((why) => { throw new Error(`the part is refused: ${why.message}`); });
const bundle = new Blob([new Uint8Array(CHUNK), new Uint8Array(5)]), hashes = [];
for (const size of [CHUNK, 5]) {
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", new Uint8Array(size)));
  hashes.push([...digest].map((byte) => byte.toString(16).padStart(2, "0")).join(""));
}
const lost = [409, {}, { message: "keys: had 1 chunks fewer", missing: [hashes[1]] }];
[answers, seen.length] = [[[201, {}, { hash: "b", missing: hashes }], [201, {}, {}], [201, {}, {}], lost, [201, {}, {}],
                          [202, {}, {}], [200, {}, { state: "ready" }]], 0];
assert.equal(await service.push(bundle), "b");
assert.deepEqual(seen.filter(([method]) => method === "PUT").map(([, path]) => path.slice(-64)).sort(),
                 [hashes[0], hashes[1], hashes[1]].sort());
[answers, seen.length] = [[[201, {}, { hash: "b", missing: [hashes[1]] }], [201, {}, {}], lost], 0];
await assert.rejects(service.push(bundle), /1 chunks fewer/);  // the same ones again: no end is in sight
console.log("as it should be");

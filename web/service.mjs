// The tenant's side of a service (docs/serving.md) for a page: models, bundles of keys, jobs. It sees public files alone:
// secret keys stay in the Worker of client.mjs.
import { LatticinoError } from "./latticino.mjs";

const CHUNK = 8 * 2 ** 20;  // bytes of a piece of a bundle
const UPLOADS = 4;          // pieces at a time
const WAIT = 20;            // seconds of a long poll
const TRIES = 5;            // of a request whose connection breaks
const PATIENCE = 600;       // seconds of all pauses that the service asks for
const SILENCE = 90;         // seconds without a byte of an answer; long polls take up to 30
const SLOWEST = 2 ** 13;    // bytes of a body per second, below which the service refuses it too
const MAGIC = "LTPROGRM", HEAD = 20, DIGEST = 32, VERSION = 1;  // of a program's file

function refuse(kind, operation, had, needs, remedy) {
  throw new LatticinoError(kind, `${operation}: had ${had}; needs ${needs}; ${remedy}`);
}

const pause = (seconds) => new Promise((resolve) => setTimeout(resolve, 1000 * seconds));
// Seconds before a request is repeated that nobody has named a time for: twice as many each time, half of them at random.
const backOff = (tries) => Math.min(0.2 * 2 ** tries, 5) * (0.5 + 0.5 * Math.random());
// Seconds of Retry-After, and up to a quarter of them more, or a second: pages that were refused together come back apart.
const scattered = (seconds) => seconds + Math.random() * Math.max(seconds / 4, 1);
const hex = (bytes) => [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
const sha256 = async (bytes) => new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));

/** A model of a service. `url`: where the service is; `token`: of its operator; `model`: its name, which may be left out
 * where the token is for one model. LatticinoError "ServiceError" for what the service refuses. */
export async function connect(url, token, model = null) {
  const link = new Link(url, token);
  const { models } = await link.json("GET", "v1/models");
  const names = models.map(({ name }) => name);
  const facts = models.find(({ name }) => name === (model ?? (names.length === 1 ? names[0] : null)));
  if (!facts) {
    refuse("ServiceError", "connect", model ? `the model ${model}` : "no name of a model",
           `one of ${names.join(", ") || "none that this token is for"}`, "name it");
  }
  const part = await readPart(await link.bytes("GET", `v1/models/${facts.name}/client`));
  return new Service(link, facts, part);
}

class Service {
  #link;

  constructor(link, facts, part) {
    this.#link = link;
    /** What the service says of the model, as of GET /v1/models. */
    this.facts = facts;
    /** What encryption needs: `params` for makeClient, `keys` for serverKeys, and for each input `shape`, `level` and
     * `range` for encrypt. */
    this.part = part;
  }

  /** Uploads a bundle of keys (a Blob), or the pieces of it that the service lacks, and waits until it was checked. Gives
   * its hash. `onProgress(sent, total)` in bytes. */
  async push(bundle, onProgress = () => {}) {
    const names = [];
    for (let at = 0; at < bundle.size; at += CHUNK) names.push(hex(await sha256(await piece(bundle, at / CHUNK))));
    const model = this.facts.name, fields = { model, size: bundle.size, chunks: names };
    let { hash, missing } = await this.#link.json("POST", "v1/bundles", { body: JSON.stringify(fields), type: "application/json" });
    let sent = 0;
    onProgress(0, bundle.size);
    for (;;) {
      const left = [...new Set(missing)];
      await Promise.all(Array.from({ length: UPLOADS }, async () => {
        for (let name = left.pop(); name !== undefined; name = left.pop()) {
          const body = await piece(bundle, names.indexOf(name));
          await this.#link.bytes("PUT", `v1/chunks/${name}`, { body });
          onProgress(sent += body.byteLength, bundle.size);
        }
      }));
      try {
        await this.#link.json("POST", `v1/bundles/${hash}/commit`, { query: { model } });
        break;
      } catch (why) {  // another page of this tenant may have removed a bundle with the same pieces
        if (!why.missing?.length || String(why.missing) === String(missing)) throw why;
        missing = why.missing;
      }
    }
    for (;;) {
      const row = await this.#link.json("GET", `v1/bundles/${hash}`, { query: { model, wait: WAIT } });
      if (row.state === "ready") return hash;
      if (row.state === "refused") throw new LatticinoError("ServiceError", String(row.reason));
    }
  }

  /** The file of the encrypted result for the file of an encrypted input, under the bundle with this hash.
   * `onState(state, progress)`: "queued", "running" and so on, and a number from 0 to 1. */
  async run(bundle, input, onState = () => {}) {
    const { request_bytes: bytes, name: model } = this.facts;
    if (input.length !== bytes) {
      refuse("ServiceError", "run", `an input of ${input.length} bytes`, `${bytes}`, "encrypt it as the model's part says");
    }
    const headers = { "Idempotency-Key": crypto.randomUUID() };
    const query = { model, bundle, final: true };
    let job = await this.#link.json("POST", "v1/jobs", { query, headers, body: input });
    while (job.state === "queued" || job.state === "running") {
      onState(job.state, job.progress);
      job = await this.#link.json("GET", `v1/jobs/${job.id}`, { query: { wait: WAIT } });
    }
    onState(job.state, job.progress);
    if (job.state !== "done") {
      refuse("ServiceError", "run", `a job that is ${job.state}${job.error ? ` (${job.error})` : ""}`, "one that is done",
             "see the reason; a new job can be sent");
    }
    return this.#link.bytes("GET", `v1/jobs/${job.id}/result`);
  }
}

const piece = (bundle, i) => bundle.slice(i * CHUNK, (i + 1) * CHUNK).arrayBuffer();

// An address and a token. Every request may be repeated: jobs have a key of idempotency, all others have no second effect.
class Link {
  #base;
  #token;

  constructor(url, token) {
    const base = addressOf(url);
    if (base.protocol !== "https:" && !["127.0.0.1", "[::1]", "localhost"].includes(base.hostname)) {
      refuse("UnsupportedError", "connect", `${base.protocol}//${base.hostname}, over which anybody can read the token`,
             "https, or an address of this machine", "put the service behind TLS");
    }
    if (!/^[\x21-\x7e]+$/.test(token)) {
      refuse("ValueError", "connect", "no token, or one with other characters than ASCII's", "what the operator gave", "copy it again");
    }
    [this.#base, this.#token] = [base, token];
  }

  async json(method, path, options) {
    const text = new TextDecoder().decode(await this.bytes(method, path, options));
    try {
      return JSON.parse(text);
    } catch {
      refuse("ServiceError", "service", `a response of ${this.#base.host} that is no JSON`, "one of a service", "check the address");
    }
  }

  async bytes(method, path, { query = {}, headers = {}, body, type = "application/octet-stream" } = {}) {
    const address = new URL(path, this.#base);
    for (const [name, value] of Object.entries(query)) address.searchParams.set(name, value);
    const request = {
      method, body, cache: "no-store", credentials: "omit", redirect: "error", referrerPolicy: "no-referrer",
      headers: { Authorization: `Bearer ${this.#token}`, ...(body ? { "Content-Type": type } : {}), ...headers },
    };
    let paused = 0;
    for (let tries = 1; ;) {  // without those that were refused until a stated time
      let response = null, data = null;
      try {
        [response, data] = await exchange(address, request, body?.byteLength ?? body?.length ?? 0);
      } catch (why) {
        if (tries >= TRIES) {
          refuse("ServiceError", "service", `no answer of ${this.#base.host} (${why.message})`, "a service that runs",
                 "check the address, or try again");
        }
        await pause(backOff(tries++));
        continue;
      }
      if (response.ok) return data;
      if (![429, 503].includes(response.status)) throw refusal(response.status, data);
      const stated = response.headers.get("Retry-After") ?? "", seconds = /^[0-9]{1,9}$/.test(stated) ? Number(stated) : null;
      if (seconds === null ? tries >= TRIES : (paused += seconds) > PATIENCE) throw refusal(response.status, data);
      await pause(seconds === null ? backOff(tries++) : scattered(seconds));
    }
  }
}

// The response and all its bytes. Throws where the connection breaks, or brings nothing for too long.
async function exchange(address, request, sends) {
  const ends = new AbortController(), pieces = [];
  let timer = null, size = 0;
  const within = (seconds) => {
    clearTimeout(timer);
    timer = setTimeout(() => ends.abort(new Error(`nothing for ${Math.round(seconds)} s`)), 1000 * seconds);
  };
  try {
    within(SILENCE + sends / SLOWEST);
    const response = await fetch(address, { ...request, signal: ends.signal });
    for (const reader = response.body?.getReader(); reader;) {
      within(SILENCE);
      const { done, value } = await reader.read();
      if (done) break;
      pieces.push(value);
      size += value.length;
    }
    const data = new Uint8Array(size);
    for (let at = 0; pieces.length; at += pieces.shift().length) data.set(pieces[0], at);
    return [response, data];
  } finally {
    clearTimeout(timer);
  }
}

// An address under which paths of the service are: a base without a slash at its end would lose its last name.
function addressOf(url) {
  let base = null;
  try {
    base = new URL(url);
  } catch {
    refuse("ValueError", "connect", `the address ${url}`, "https://HOST or https://HOST:PORT", "correct it");
  }
  if (!base.pathname.endsWith("/")) base.pathname += "/";
  return base;
}

function refusal(status, data) {
  let message = `service: had a response of status ${status}; needs one of a service; check the address`, missing = [];
  try {
    const said = JSON.parse(new TextDecoder().decode(data));
    [message, missing] = [String(said.message ?? message), Array.isArray(said.missing) ? said.missing.map(String) : []];
  } catch {
    // Another server than a service's has answered.
  }
  return Object.assign(new LatticinoError("ServiceError", message), { missing });
}

// The part of a program that clients need (lt.SavedProgram.client_bytes): JSON between a head and a digest. Whoever serves
// the page serves its code too, so the file is checked for damage and for what this page can do, and no further.
export async function readPart(file) {
  const wrong = (had) => refuse("FileError", "connect", had, "the part of a program for clients", "serve what lt.save_program wrote");
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength), end = file.length - DIGEST;
  if (end < HEAD || new TextDecoder("latin1").decode(file.subarray(0, MAGIC.length)) !== MAGIC) wrong("another file, or a network's");
  if (view.getUint32(8, true) !== VERSION) wrong(`version ${view.getUint32(8, true)} of a program`);
  if (hex(await sha256(file.subarray(0, end))) !== hex(file.subarray(end))) wrong("bytes that are not those that were written");
  const length = Number(view.getBigUint64(12, true));
  if (HEAD + length > end) wrong("a head that is too long");
  const head = JSON.parse(new TextDecoder().decode(file.subarray(HEAD, HEAD + length)));
  if (head.scheme !== "ckks" || head.scalars.length) wrong("a program of TFHE, or one that takes numbers");
  return {
    params: Uint8Array.from(head.params.match(/../g), (byte) => parseInt(byte, 16)),
    keys: Object.fromEntries(head.plan.key_names.map((name, i) => [name, head.plan.key_levels[i]])),
    inputs: head.inputs.map((input) => inputOf(input, wrong)),
  };
}

// An input as options of Client.encrypt.
function inputOf({ note, level }, wrong) {
  const { shape, range, layout } = JSON.parse(note);
  if (!shape || layout) wrong("an input in another layout than that of a fresh array");
  const [low, high, imagLow, imagHigh] = range.numbers, complex = imagLow !== 0 || imagHigh !== 0;
  const ends = complex ? [low, high, imagLow, imagHigh] : [low, high];
  return { shape, level, complex, range: range.claim === "declared" ? ends : null };
}

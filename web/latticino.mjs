// The client half of Latticino in WebAssembly: secret keys, evaluation keys, encryption, decryption and their files.
// Everything here runs in the thread that calls it; web/client.mjs puts it into a Worker. docs/browser.md.

const LARGEST = 2 ** 31;  // bytes of one array: the module's memory ends there

/** An error of the library. `name` is its kind ("KeyError", "FileError", ...); the message names the operation, what it
 * had, what it needs and what to change. */
export class LatticinoError extends Error {
  constructor(kind, message) {
    super(message);
    this.name = kind;
  }
}

function refuse(kind, operation, had, needs, remedy) {
  throw new LatticinoError(kind, `${operation}: had ${had}; needs ${needs}; ${remedy}`);
}

/** The module from a URL, a Response, or the bytes of latticino.wasm. */
export async function load(source) {
  if (typeof source === "string" || source instanceof URL) source = await fetch(source);
  if (typeof Response !== "undefined" && source instanceof Response) {
    if (!source.ok) refuse("FileError", "load", `status ${source.status} of ${source.url}`, "latticino.wasm", "check the address");
    source = await source.arrayBuffer();
  }
  const module = new Module();
  const { instance } = await WebAssembly.instantiate(source, module._imports());
  module._begin(instance.exports);
  return module;
}

/** One instance, with memory of its own. `load` makes it. */
class Module {
  #exports;
  #take = null;      // what gets the pieces of the running call
  #progress = null;
  #error = null;
  #stopped = false;

  _imports() {
    const nothing = () => 0;
    return {
      env: {
        // The only source of randomness: the browser's generator for cryptography. No entropy, no keys: the core throws.
        getentropy: (at, count) => {
          try {
            crypto.getRandomValues(this.#bytes(at, count));
            return 0;
          } catch {
            return -1;
          }
        },
        emscripten_notify_memory_growth: nothing,
        lt_write: (at, count) => { if (count > 0) this.#take(this.#bytes(at, count).slice()); },
        lt_progress: (done, total) => this.#progress?.(done, total),
        lt_fail: (kind, kindBytes, text, textBytes) => {
          this.#error = new LatticinoError(this.#text(kind, kindBytes), this.#text(text, textBytes));
        },
      },
      wasi_snapshot_preview1: {
        proc_exit: (code) => { throw new LatticinoError("LatticinoError", `the module ended with status ${code}`); },
        environ_sizes_get: (count, bytes) => {
          this.#words(count, 1)[0] = this.#words(bytes, 1)[0] = 0;
          return 0;
        },
        environ_get: nothing,
        clock_time_get: () => 52,  // WASI's ENOSYS: no clock
        fd_write: () => 8, fd_read: () => 8, fd_seek: () => 8, fd_close: () => 8,  // EBADF: no files
      },
    };
  }

  _begin(exports) {
    this.#exports = exports;
    exports._initialize();
  }

  /** A client with a new secret key. `params`: bytes of a parameter file, or the canonical text of a set. */
  makeClient(params) {
    return new Client(this, this._call("makeClient", "lt_make", [paramBytes(params)]).result);
  }

  /** The client of a secret-key file, written by `Client.saveSecretKey` or by `lt.save_secret_key`. `passphrase`: the
   * one that it was saved with. KeyError for another one. */
  loadClient(params, file, passphrase = "") {
    const secret = passphraseBytes(passphrase);
    try {
      const inputs = [paramBytes(params), asBytes(file, "loadClient"), secret];
      return new Client(this, this._call("loadClient", "lt_load", inputs).result);
    } finally {
      secret.fill(0);
    }
  }

  /** Bytes that the module's memory has now. It grows and never shrinks. */
  get memoryBytes() {
    return this.#exports.memory.buffer.byteLength;
  }

  // Calls an export. `inputs`: arrays, each handed on as address and length in elements, and numbers. Copies in the
  // module's memory are cleared. Gives what the export returns and the pieces that it wrote.
  _call(operation, name, inputs, { onPiece = null, onProgress = null } = {}) {
    if (this.#stopped) {
      refuse("LatticinoError", operation, "a module that stopped after an error", "a running one", "load it again");
    }
    const pieces = [], held = [], args = [];
    try {
      for (const input of inputs) {
        if (ArrayBuffer.isView(input)) {
          args.push(this.#put(input, operation, held), input.length);
        } else {
          args.push(input);
        }
      }
      [this.#take, this.#progress, this.#error] = [onPiece ?? ((piece) => pieces.push(piece)), onProgress, null];
      const result = this.#exports[name](...args);
      if (this.#error) throw this.#error;
      return { result, pieces };
    } catch (error) {
      // A trap leaves the memory in no state that can be used.
      if (error instanceof WebAssembly.RuntimeError) {
        this.#stopped = true;
        refuse("LatticinoError", operation, `a module that stopped (${error.message})`, "a running one",
               "load it again, with smaller parameters or fewer values");
      }
      throw error;
    } finally {
      [this.#take, this.#progress, this.#error] = [null, null, null];
      if (!this.#stopped) for (const [at, count] of held) this.#exports.lt_free(at, count);
    }
  }

  #put(array, operation, held) {
    const at = array.byteLength < LARGEST ? this.#exports.lt_allocate(array.byteLength) >>> 0 : 0;
    if (at === 0) {
      refuse("OutOfMemoryError", operation, `${array.byteLength} bytes to hand over`, "memory for them", "pass fewer values");
    }
    held.push([at, array.byteLength]);
    this.#bytes(at, array.byteLength).set(new Uint8Array(array.buffer, array.byteOffset, array.byteLength));
    return at;
  }

  #bytes(at, count) { return new Uint8Array(this.#exports.memory.buffer, at >>> 0, count >>> 0); }
  #words(at, count) { return new Uint32Array(this.#exports.memory.buffer, at >>> 0, count); }
  #text(at, count) { return new TextDecoder().decode(this.#bytes(at, count)); }
}

/** The owner of a secret key. `Module.makeClient` and `loadClient` make it. It never leaves this thread. */
class Client {
  #module;
  #id;

  constructor(module, id) {
    [this.#module, this.#id] = [module, id];
    const { pieces } = module._call("makeClient", "lt_describe", [id]);
    /** Scheme, name, hash, sizes and key id. */
    this.info = Object.freeze(JSON.parse(new TextDecoder().decode(join(pieces))));
  }

  /** The evaluation keys of a server as one file, in pieces of about 1 MiB to `onPiece(Uint8Array)`; without it the
   * whole file is given back. CKKS makes each key when its piece is due, so only one is in memory.
   *
   * `keys`: for CKKS the levels of the keys that the program needs, by name, as {"relinearize": 3, "galois(5)": 2}: a
   * server's `{repr(label): level for label, level in plan.keys.items()}`. Left out for TFHE. `withPublicKey`: also a key
   * that encrypts. `onProgress(done, total)`. */
  serverKeys({ keys = {}, withPublicKey = false, onPiece = null, onProgress = null } = {}) {
    const words = Uint32Array.from(Object.entries(keys).flatMap(([name, level]) => wish(name, level)));
    const inputs = [this.#id, words, Number(withPublicKey)];
    const { pieces } = this.#module._call("serverKeys", "lt_server_keys", inputs, { onPiece, onProgress });
    return onPiece ? undefined : join(pieces);
  }

  /** A file of ciphertexts with these values, as `lt.to_bytes(client.encrypt(x))` gives it.
   *
   * CKKS: numbers in an array of any depth, or a typed array with `shape`; `complex: true` for pairs of real and imaginary
   * parts. `range`: [low, high], or [low, high, imagLow, imagHigh]: public, and without it -1 to 1; ValueError for values
   * outside. `level`: of the ciphertext; -1 for the set's own.
   * TFHE: booleans or integers with `type` ("bool", "u8", "m4", ...), which typed arrays have already. */
  encrypt(values, { shape = null, complex = false, level = -1, range = null, type = null } = {}) {
    const foreign = this.info.scheme === "TFHE" ? { complex: complex || null, level: level >= 0 || null, range } : { type };
    for (const [name, option] of Object.entries(foreign)) {
      if (option !== null) {
        refuse("UnsupportedError", "encrypt", `${name} under ${this.info.scheme}`, "an option of this scheme", "leave it out");
      }
    }
    const flat = flatten(values, shape, complex);
    const lengths = Float64Array.from(flat.shape);
    if (this.info.scheme === "TFHE") {
      const integers = asIntegers(flat.values);
      try {
        const inputs = [this.#id, integers, lengths, new TextEncoder().encode(type ?? typeOf(flat.values))];
        return join(this.#module._call("encrypt", "lt_encrypt_integers", inputs).pieces);
      } finally {
        integers.fill(0n);
      }
    }
    const numbers = asNumbers(flat.values);
    const inputs = [this.#id, numbers, Number(complex), lengths, integer(level, "level", -1, 1000), rangeOf(range, complex)];
    try {
      return join(this.#module._call("encrypt", "lt_encrypt_numbers", inputs).pieces);
    } finally {
      if (numbers !== values) numbers.fill(0);
    }
  }

  /** {type, shape, values} of a file of ciphertexts under this client's key, final answers included. CKKS: a Float64Array
   * of type "real", or of pairs of type "complex"; TFHE: a typed array of integers. KeyError under another key. */
  decrypt(file) {
    const { pieces } = this.#module._call("decrypt", "lt_decrypt", [this.#id, asBytes(file, "decrypt")]);
    const { type, shape } = JSON.parse(new TextDecoder().decode(pieces[0]));
    const bytes = pieces[1];  // the values are one piece
    const values = type === "real" || type === "complex" ? new Float64Array(bytes.buffer) : integersOf(type, bytes);
    return { type, shape, values };
  }

  /** The secret key as a file under a passphrase, which `lt.load_client` opens too: scrypt with 128 MiB, ChaCha20,
   * HMAC-SHA-256. It is the only form in which the secret key leaves the module. */
  saveSecretKey(passphrase) {
    const secret = passphraseBytes(passphrase);
    try {
      return join(this.#module._call("saveSecretKey", "lt_save_secret", [this.#id, secret]).pieces);
    } finally {
      secret.fill(0);
    }
  }

  /** Clears the secret key. */
  close() {
    this.#module._call("close", "lt_close", [this.#id]);
  }
}

function join(pieces) {
  if (pieces.length === 1) return pieces[0];
  const out = new Uint8Array(pieces.reduce((sum, piece) => sum + piece.length, 0));
  let at = 0;
  for (const piece of pieces) {
    out.set(piece, at);
    at += piece.length;
  }
  return out;
}

// Kind, Galois element and level of a key, as the module takes them.
function wish(name, level) {
  const kind = name.replace(/\[[0-9]{1,3}\]$/, ""); // the level says which band a key is for
  const rotation = /^galois\(([0-9]{1,10})\)$/.exec(kind);
  if (!rotation && kind !== "relinearize") {
    refuse("UnsupportedError", "serverKeys", `the key ${name}`, "relinearize and galois(...)", "make it with the native library");
  }
  return [rotation ? 1 : 0, rotation ? integer(Number(rotation[1]), "galois", 1, 2 ** 32 - 1) : 1, integer(level, "level", 0, 1000)];
}

function asBytes(x, operation) {
  if (x instanceof Uint8Array) return x;
  if (x instanceof ArrayBuffer) return new Uint8Array(x);
  return refuse("ValueError", operation, `a file of type ${typeof x}`, "a Uint8Array or an ArrayBuffer", "pass its bytes");
}

function paramBytes(params) {
  return typeof params === "string" ? new TextEncoder().encode(params) : asBytes(params, "params");
}

// Text in Unicode's form NFC, as the Python package takes it, so that all keyboards give the same bytes.
function passphraseBytes(passphrase) {
  if (passphrase instanceof Uint8Array) return passphrase.slice();
  if (typeof passphrase !== "string") {
    refuse("ValueError", "passphrase", `a passphrase of type ${typeof passphrase}`, "text or bytes", "choose one");
  }
  if (/[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/.test(passphrase)) {
    refuse("ValueError", "passphrase", "text with half a surrogate pair", "text that UTF-8 can hold", "pass it as bytes");
  }
  return new TextEncoder().encode(passphrase.normalize("NFC"));
}

function integer(x, name, least, most) {
  if (Number.isInteger(x) && x >= least && x <= most) return x;
  return refuse("ValueError", name, String(x), `an integer from ${least} to ${most}`, "correct it");
}

// Values row by row, with their shape; of complex ones without the axis of the two parts.
function flatten(values, shape, complex) {
  const shapeOf = (x) => Array.isArray(x) ? [x.length, ...(x.length ? shapeOf(x[0]) : [])] : [];
  const own = ArrayBuffer.isView(values) ? [values.length] : shapeOf(values);
  const flat = ArrayBuffer.isView(values) ? values : Array.isArray(values) ? values.flat(Infinity) : [values];
  const regular = (x, lengths) => lengths.length === 0 ? !Array.isArray(x)
    : Array.isArray(x) && x.length === lengths[0] && x.every((y) => regular(y, lengths.slice(1)));
  if (!ArrayBuffer.isView(values) && !regular(values, own)) {
    refuse("ShapeError", "encrypt", "rows of several lengths", "rows of one length", "pad them");
  }
  for (const n of shape ?? []) integer(n, "shape", 1, 2 ** 31);
  if (shape || !complex) return { values: flat, shape: shape ?? own };
  const pairs = own.length > 1;
  if (own.length === 0 || own.at(-1) % 2 || (pairs && own.at(-1) !== 2)) {
    refuse("ShapeError", "encrypt", "complex numbers that are no pairs", "real and imaginary parts", "pass [[re, im], ...]");
  }
  return { values: flat, shape: pairs ? own.slice(0, -1) : [own[0] / 2] };
}

function asNumbers(values) {
  if (values instanceof Float64Array) return values;
  for (const x of values) {
    if (typeof x !== "number") {
      refuse("ValueError", "encrypt", `a value of type ${typeof x}`, "numbers", "convert them first");
    }
  }
  return Float64Array.from(values);
}

const TYPES = [[Uint8Array, "u8"], [Uint8ClampedArray, "u8"], [Uint16Array, "u16"], [Uint32Array, "u32"], [BigUint64Array, "u64"]];

function typeOf(values) {
  if (Array.isArray(values) && values.length && values.every((x) => typeof x === "boolean")) return "bool";
  for (const [kind, type] of TYPES) if (values instanceof kind) return type;
  return refuse("ParameterError", "encrypt", "values without a type", "booleans, a typed array of unsigned integers, or a type",
                'say type: "u8"');
}

function asIntegers(values) {
  const out = new BigUint64Array(values.length);
  for (let i = 0; i < out.length; ++i) {
    const x = values[i];
    const good = typeof x === "boolean" || Number.isSafeInteger(x) || typeof x === "bigint";
    if (!good || x < 0 || x >= 2n ** 64n) {
      refuse("ValueError", "encrypt", `a value at index ${i} that is no unsigned integer`, "0 to 2^64 - 1", "round it first");
    }
    out[i] = BigInt(x);
  }
  return out;
}

function integersOf(type, bytes) {
  const words = new BigUint64Array(bytes.buffer), bits = type === "bool" ? 1 : Number(type.slice(1));
  const Kind = [[8, Uint8Array], [16, Uint16Array], [32, Uint32Array]].find(([most]) => bits <= most)?.[1];
  if (!Kind) return words;
  const out = Kind.from(words, Number);
  words.fill(0n);
  return out;
}

// Ends of real and of imaginary parts.
function rangeOf(range, complex) {
  if (range === null) return new Float64Array(0);
  const ends = Float64Array.from(range.length === 2 ? [...range, ...(complex ? range : [0, 0])] : range);
  if (ends.length === 4 && ends.every(Number.isFinite)) return ends;
  return refuse("ValueError", "encrypt", `the range ${range}`, "[low, high], or both of them for imaginary parts too", "correct it");
}

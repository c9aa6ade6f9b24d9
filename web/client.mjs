// The same client in a Worker, so that a page stays alive while keys are made: every method gives a promise. The secret
// keys stay in the Worker.
import { LatticinoError } from "./latticino.mjs";

export { LatticinoError };

/** Starts a Worker with the module. `wasm`: the address of latticino.wasm, or its bytes. `worker`: that of worker.mjs. */
export async function start({ wasm = new URL("latticino.wasm", import.meta.url),
                              worker = new URL("worker.mjs", import.meta.url) } = {}) {
  const remote = new Remote(new Worker(worker, { type: "module" }));
  await remote.call("load", null, [wasm instanceof URL ? wasm.href : wasm]);
  return remote;
}

class Remote {
  #worker;
  #waiting = new Map();
  #last = 0;

  constructor(worker) {
    this.#worker = worker;
    worker.addEventListener("message", ({ data }) => this.#answer(data));
    worker.addEventListener("error", (event) => this.#fail(`the Worker stopped: ${event.message}`));
  }

  async makeClient(params) {
    return new RemoteClient(this, await this.call("makeClient", null, [params]));
  }

  async loadClient(params, file, passphrase = "") {
    return new RemoteClient(this, await this.call("loadClient", null, [params, file, passphrase]));
  }

  /** Ends the Worker and all of its clients. */
  stop() {
    this.#worker.terminate();
    this.#fail("the Worker was ended");
  }

  call(method, client, args, listeners = {}) {
    const call = ++this.#last;
    return new Promise((resolve, reject) => {
      this.#waiting.set(call, { resolve, reject, ...listeners });
      this.#worker.postMessage({ call, method, client, args });
    });
  }

  #answer({ call, piece, progress, result, error }) {
    const waiting = this.#waiting.get(call);
    if (piece) return waiting?.onPiece?.(piece);
    if (progress) return waiting?.onProgress?.(...progress);
    this.#waiting.delete(call);
    if (error) waiting?.reject(new LatticinoError(error.kind, error.message));
    else waiting?.resolve(result);
  }

  #fail(message) {
    for (const { reject } of this.#waiting.values()) reject(new LatticinoError("LatticinoError", message));
    this.#waiting.clear();
  }
}

class RemoteClient {
  #remote;
  #id;

  constructor(remote, { client, info }) {
    [this.#remote, this.#id] = [remote, client];
    this.info = Object.freeze(info);
  }

  /** As Client.serverKeys (web/latticino.mjs). Pieces go on while the Worker makes the next ones. */
  async serverKeys({ keys = {}, withPublicKey = false, onPiece = null, onProgress = null } = {}) {
    const pieces = [];
    await this.#remote.call("serverKeys", this.#id, [{ keys, withPublicKey }],
                            { onPiece: onPiece ?? ((piece) => pieces.push(piece)), onProgress });
    return onPiece ? undefined : new Uint8Array(await new Blob(pieces).arrayBuffer());
  }

  encrypt(values, options = {}) { return this.#remote.call("encrypt", this.#id, [values, options]); }
  decrypt(file) { return this.#remote.call("decrypt", this.#id, [file]); }
  saveSecretKey(passphrase) { return this.#remote.call("saveSecretKey", this.#id, [passphrase]); }
  close() { return this.#remote.call("close", this.#id, []); }
}

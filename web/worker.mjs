// The Worker that holds the module and its secret keys. It answers messages of web/client.mjs:
// {call, method, client, args} with {call, result} or {call, error}, and before that with {call, piece} and
// {call, progress} of server keys.
import { load } from "./latticino.mjs";

let module = null;
const clients = new Map();
let last = 0;

function keep(client) {
  clients.set(++last, client);
  return { client: last, info: client.info };
}

const methods = {
  load: async (_, source) => { module = await load(source); },
  makeClient: (_, params) => keep(module.makeClient(params)),
  loadClient: (_, params, file, passphrase) => keep(module.loadClient(params, file, passphrase)),
  serverKeys: (client, options, call) => client.serverKeys({
    ...options,
    onPiece: (piece) => postMessage({ call, piece }, [piece.buffer]),
    onProgress: (done, total) => postMessage({ call, progress: [done, total] }),
  }),
  encrypt: (client, values, options) => client.encrypt(values, options),
  decrypt: (client, file) => client.decrypt(file),
  saveSecretKey: (client, passphrase) => client.saveSecretKey(passphrase),
};

function close(id) {
  clients.get(id)?.close();
  clients.delete(id);
}

addEventListener("message", async ({ data: { call, method, client, args } }) => {
  try {
    if (method === "close") close(client);
    const extra = method === "serverKeys" ? [call] : [];
    const result = method === "close" ? undefined : await methods[method](clients.get(client), ...args, ...extra);
    postMessage({ call, result }, result instanceof Uint8Array ? [result.buffer] : []);
  } catch (error) {
    postMessage({ call, error: { kind: error.name, message: error.message } });
  }
});

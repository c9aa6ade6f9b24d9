// The page: draws, encrypts, asks the server, decrypts. Its server answers
//   GET model    {params, shape, range, keys}: text of the set; shape and public range of the input; levels of keys by name
//   PUT keys     a bundle of server keys
//   POST answer  a file of ciphertexts, answered by one
import { start } from "./client.mjs";

const SIDE = 8, $ = (id) => document.getElementById(id);
const pad = $("pad").getContext("2d", { willReadFrequently: true }), small = $("small").getContext("2d");

const kib = (bytes) => `${Math.round(bytes / 1024).toLocaleString("en")} KiB`;
const ms = (since) => `${Math.round(performance.now() - since)} ms`;

function step(text) {
  const item = document.createElement("li");
  item.textContent = text;
  $("steps").append(item);
  return item;
}

async function request(path, options) {
  const response = await fetch(path, options);
  if (!response.ok) throw new Error(`${path}: status ${response.status}: ${await response.text()}`);
  return response;
}

// ---- drawing ----

function clear() {
  pad.fillStyle = "#000";
  pad.fillRect(0, 0, pad.canvas.width, pad.canvas.height);
  [pad.strokeStyle, pad.lineWidth, pad.lineCap, pad.lineJoin] = ["#fff", 26, "round", "round"];
  $("answer").textContent = "?";
  $("scores").replaceChildren();
  shrink();
}

// The drawing in its bounding square, so that it fills the picture as the digits of the training did; from 0 to 1.
function pixels() {
  const { width, height } = pad.canvas, { data } = pad.getImageData(0, 0, width, height);
  let [left, top, right, bottom] = [width, height, 0, 0];
  for (let y = 0; y < height; ++y) {
    for (let x = 0; x < width; ++x) {
      if (data[4 * (y * width + x)] < 64) continue;
      [left, right] = [Math.min(left, x), Math.max(right, x + 1)];
      [top, bottom] = [Math.min(top, y), Math.max(bottom, y + 1)];
    }
  }
  const out = new Array(SIDE * SIDE).fill(0);
  if (right <= left) return out;
  const size = Math.max(right - left, bottom - top), x0 = (left + right - size) / 2, y0 = (top + bottom - size) / 2;
  const counts = new Array(SIDE * SIDE).fill(0);
  for (let y = 0; y < size; ++y) {
    for (let x = 0; x < size; ++x) {
      const at = Math.floor(y * SIDE / size) * SIDE + Math.floor(x * SIDE / size);
      const [px, py] = [Math.floor(x0 + x), Math.floor(y0 + y)];
      counts[at] += 1;
      if (px >= 0 && py >= 0 && px < width && py < height) out[at] += data[4 * (py * width + px)] / 255;
    }
  }
  return out.map((sum, i) => counts[i] ? sum / counts[i] : 0);
}

function shrink() {
  const image = small.createImageData(SIDE, SIDE);
  pixels().forEach((x, i) => image.data.set([255 * x, 255 * x, 255 * x, 255], 4 * i));
  small.putImageData(image, 0, 0);
}

function draw(event) {
  if (event.buttons !== 1) return;
  const box = pad.canvas.getBoundingClientRect(), scale = pad.canvas.width / box.width;
  const [x, y] = [(event.clientX - box.left) * scale, (event.clientY - box.top) * scale];
  if (event.type === "pointerdown") pad.beginPath();
  else pad.lineTo(x, y), pad.stroke();
  pad.moveTo(x, y);
  shrink();
}

// ---- the client ----

async function prepare() {
  let began = performance.now();
  const model = await (await request("model")).json();
  const module = await start();
  const client = await module.makeClient(model.params);
  step(`made a secret key of ${client.info.name} in a Worker: ${ms(began)}`);
  began = performance.now();
  const item = step("making evaluation keys"), pieces = [];
  await client.serverKeys({
    keys: model.keys,
    onPiece: (piece) => pieces.push(piece),
    onProgress: (done, total) => { item.textContent = `making evaluation keys: ${done} of ${total}`; },
  });
  const keys = new Blob(pieces);
  await request("keys", { method: "PUT", body: keys });
  item.textContent = `made ${Object.keys(model.keys).length} evaluation keys and sent them (${kib(keys.size)}): ${ms(began)}`;
  $("send").disabled = false;
  return { client, model };
}

async function send({ client, model }) {
  let began = performance.now();
  const file = await client.encrypt(pixels(), { range: model.range });
  step(`encrypted 64 pixels (${kib(file.length)}): ${ms(began)}`);
  began = performance.now();
  const answer = new Uint8Array(await (await request("answer", { method: "POST", body: file })).arrayBuffer());
  step(`the server answered (${kib(answer.length)}): ${ms(began)}`);
  began = performance.now();
  const { values } = await client.decrypt(answer);
  step(`decrypted ${values.length} scores: ${ms(began)}`);
  show([...values]);
}

function show(scores) {
  const [least, most] = [Math.min(...scores), Math.max(...scores)];
  $("scores").replaceChildren(...scores.flatMap((score, digit) => {
    const name = document.createElement("span"), bar = document.createElement("meter"), number = document.createElement("span");
    [name.textContent, number.textContent, bar.value] = [digit, score.toFixed(3), (score - least) / (most - least || 1)];
    number.className = "score";
    return [name, bar, number];
  }));
  $("answer").textContent = scores.indexOf(most);
}

function report(error) {
  $("problem").textContent = `${error.name}: ${error.message}`;
}

for (const event of ["pointerdown", "pointermove"]) pad.canvas.addEventListener(event, draw);
$("clear").addEventListener("click", clear);
clear();
prepare().then((ready) => {
  $("send").addEventListener("click", () => {
    $("send").disabled = true;
    send(ready).catch(report).finally(() => { $("send").disabled = false; });
  });
}).catch(report);

/** For tests: what is encrypted. */
globalThis.pixels = pixels;

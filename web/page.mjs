// The page: draws, encrypts, asks the service, decrypts. It lies in the folder page/ of a service (docs/browser.md), whose
// model takes the 64 pixels and gives ten scores.
import { start } from "./client.mjs";
import { connect } from "./service.mjs";

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

// ---- drawing ----

function clear() {
  pad.fillStyle = "#000";
  pad.fillRect(0, 0, pad.canvas.width, pad.canvas.height);
  [pad.strokeStyle, pad.lineWidth, pad.lineCap, pad.lineJoin] = ["#fff", 26, "round", "round"];
  forget();
  shrink();
}

function forget() {
  $("answer").textContent = "?";
  $("scores").replaceChildren();
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
  if (event.type === "pointerdown") {
    pad.beginPath();
    forget();  // it is of another drawing
  }
  else pad.lineTo(x, y), pad.stroke();
  pad.moveTo(x, y);
  shrink();
}

// ---- the client ----

let module = null, session = null;  // of the last connection

async function prepare(token) {
  let began = performance.now();
  const service = await connect(new URL("..", location.href), token);
  const { params, keys, inputs } = service.part;
  module?.stop();
  module = await start();
  const client = await module.makeClient(params);
  step(`made a secret key of ${client.info.name} in a Worker: ${ms(began)}`);
  began = performance.now();
  const item = step("making evaluation keys"), pieces = [];
  await client.serverKeys({
    keys,
    onPiece: (piece) => pieces.push(piece),
    onProgress: (done, total) => { item.textContent = `making evaluation keys: ${done} of ${total}`; },
  });
  const file = new Blob(pieces);
  item.textContent = `made ${Object.keys(keys).length} evaluation keys (${kib(file.size)}): ${ms(began)}`;
  began = performance.now();
  const upload = step("sending them");
  const bundle = await service.push(file, (sent, total) => { upload.textContent = `sent ${kib(sent)} of ${kib(total)} of keys`; });
  upload.textContent = `sent them, and the service has checked them: ${ms(began)}`;
  return { service, client, bundle, input: inputs[0] };
}

async function send({ service, client, bundle, input }) {
  let began = performance.now();
  const file = await client.encrypt(pixels(), input);
  step(`encrypted 64 pixels (${kib(file.length)}): ${ms(began)}`);
  began = performance.now();
  const item = step("sending them");
  const answer = await service.run(bundle, file, (state) => { item.textContent = `the job is ${state}`; });
  item.textContent = `the service answered (${kib(answer.length)}): ${ms(began)}`;
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

// The form comes back: a new connection makes new keys, which helps where the service has them or the token no more.
function report(error, hint = "") {
  $("problem").textContent = `${error.name}: ${error.message}${hint}`;
  $("access").hidden = false;
}

for (const event of ["pointerdown", "pointermove"]) pad.canvas.addEventListener(event, draw);
$("clear").addEventListener("click", clear);
clear();

$("access").addEventListener("submit", (event) => {
  event.preventDefault();
  const token = $("token").value;
  $("token").value = "";
  $("problem").textContent = "";
  $("access").hidden = true;
  $("send").disabled = true;
  prepare(token).then((ready) => {
    session = ready;
    $("send").disabled = false;
  }).catch((error) => report(error));
});

$("send").addEventListener("click", () => {
  $("send").disabled = true;
  $("problem").textContent = "";
  $("access").hidden = true;
  send(session).catch((error) => report(error, ". Send again, or connect again, which makes new keys.")).finally(() => { $("send").disabled = false; });
});

/** For tests: what is encrypted. */
globalThis.pixels = pixels;

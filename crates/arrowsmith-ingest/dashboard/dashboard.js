// SPDX-License-Identifier: Apache-2.0
// Draws the objects of /v1/status/events, or of /v1/status.json where events do not get through. It
// only reads; all text goes in as text, never as markup, because it comes from whoever sends
// records.
"use strict";

const LIVE = 120; // Points of the chart that are collected here, one per second, until the service has more.
const COLOURS = ["--blue", "--good", "--warn", "--bad", "--soft"];
const LOST_MS = 5000; // Without news for so long, the page says so.
const POLL_MS = 1000;
const REMEMBER_MS = 5000;

const $ = (id) => document.getElementById(id);
const live = new Map(); // Bytes in each second, by stream.
let past = null; // The last hour as the service kept it.
let before = null;
let newsAt = 0;
let events = null;
let redraw = () => {};

function number(value) {
  return Number.isFinite(value) ? Math.round(value).toLocaleString("en-US") : "–";
}

// Some digits of a number below a million, never with an exponent.
function rounded(value, digits) {
  const exact = Number(value.toPrecision(digits));
  return Math.abs(exact) < 10 ** (digits - 1) ? exact.toPrecision(digits) : exact.toString();
}

function scaled(value, units, step, digits = 3) {
  if (!Number.isFinite(value)) return "–";
  let unit = 0;
  while (Math.abs(value) >= step && unit < units.length - 1) {
    value /= step;
    unit += 1;
  }
  const text = unit === 0 ? Math.round(value).toString() : rounded(value, digits);
  return (text + " " + units[unit]).trim();
}

const bytes = (value) => scaled(value, ["B", "kB", "MB", "GB", "TB", "PB"], 1000);
const count = (value) => scaled(value, ["", "k", "M", "G", "T"], 1000);

function time(ms) {
  if (!Number.isFinite(ms)) return "–";
  if (ms < 0.9995) return Number((ms * 1000).toPrecision(3)) + " µs";
  return ms < 999.5 ? rounded(ms, 3) + " ms" : rounded(ms / 1000, 3) + " s";
}

function duration(s) {
  if (!Number.isFinite(s)) return "–";
  const [d, h, m] = [Math.floor(s / 86400), Math.floor(s / 3600) % 24, Math.floor(s / 60) % 60];
  const parts = [[d, "d"], [h, "h"], [m, "min"], [Math.floor(s) % 60, "s"]];
  const first = parts.findIndex(([count]) => count > 0);
  if (first < 0) return "0 s";
  return parts.slice(first, first + 2).filter(([count]) => count > 0).map(([count, unit]) => `${count} ${unit}`).join(" ");
}

function element(name, text, className) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  if (className) made.className = className;
  return made;
}

// What a counter grew by in a second since the status before; a counter that fell belongs to a new
// process.
function perSecond(now, then, seconds) {
  return seconds > 0 && Number.isFinite(now) && Number.isFinite(then) && now >= then ? (now - then) / seconds : NaN;
}

function totals(status) {
  const all = status.totals || {};
  const shown = [
    ["Received", all.received_records], ["Published", all.published_records],
    ["Rejected", all.rejected_records], ["Spooled", all.spooled_records],
    ["On their way", all.in_flight_records],
  ].map(([name, value]) => [name, number(value)]);
  shown.push(["Connections", number(status.connections)]);
  const most = status.memory_bytes_max ? `of ${bytes(status.memory_bytes_max)}` : undefined;
  shown.push(["Text in memory", bytes(status.memory_bytes), most]);
  $("totals").replaceChildren(...shown.map(([name, value, more]) => {
    const pair = element("div");
    pair.append(element("dt", name), element("dd", value));
    if (more) pair.lastChild.append(" ", element("small", more));
    if (name === "Rejected" && all.rejected_records > 0) pair.lastChild.className = "alarm";
    return pair;
  }));
  $("balance").textContent =
    `${number(all.received_records)} received = ${number(all.published_records)} published + ` +
    `${number(all.rejected_records)} rejected + ${number(all.spooled_records)} spooled + ` +
    `${number(all.in_flight_records)} on their way`;
}

function stages(status, seconds) {
  const all = status.stages || [];
  const old = (before && before.stages) || [];
  // The share of a second that each was busy, all threads together.
  const busy = all.map((stage, i) => perSecond(stage.busy_s, old[i] && old[i].busy_s, seconds));
  const longest = Math.max(...busy.filter((share) => share > 0));
  $("stages").replaceChildren(...all.map((stage, i) => {
    const box = element("li", undefined, busy[i] === longest ? "longest" : "");
    box.dataset.stage = stage.name;
    const records = perSecond(stage.records, old[i] && old[i].records, seconds);
    const volume = perSecond(stage.bytes, old[i] && old[i].bytes, seconds);
    box.append(element("h3", stage.name), element("div", count(records) + " rec/s", "big"));
    box.append(element("div", bytes(volume) + "/s", "soft"));
    const share = Number.isFinite(busy[i]) ? (busy[i] * 100).toFixed(0) + " % of a core" : "–";
    box.append(element("div", share, "soft"));
    if (stage.queue_max > 0) {
      const bar = element("div", undefined, "bar");
      const level = element("i", undefined, stage.queue >= stage.queue_max ? "full" : "");
      level.style.width = Math.min(100, (100 * stage.queue) / stage.queue_max) + "%";
      bar.append(level);
      box.append(bar, element("div", `queue ${number(stage.queue)} of ${number(stage.queue_max)}`, "soft"));
    }
    const times = element("div", undefined, "soft times");
    times.append(element("span", `p50 ${time(stage.p50_ms)}`), " ", element("span", `p99 ${time(stage.p99_ms)}`));
    box.append(times);
    return box;
  }));
}

function svg(name, attributes, text) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

// The least of 1, 2, 5, 10, … that is not below a value.
function round(value) {
  const power = 10 ** Math.floor(Math.log10(Math.max(value, 1)));
  return [1, 2, 5, 10].map((step) => step * power).find((step) => step >= value);
}

function chart(status, seconds) {
  const old = new Map(((before && before.streams) || []).map((stream) => [stream.name, stream.received_bytes]));
  for (const stream of status.streams || []) {
    const rate = perSecond(stream.received_bytes, old.get(stream.name), seconds);
    if (!live.has(stream.name)) live.set(stream.name, []);
    const points = live.get(stream.name);
    if (Number.isFinite(rate)) points.push(rate);
    if (points.length > LIVE) points.shift();
  }
  const volume = perSecond(status.totals && status.totals.received_bytes,
    before && before.totals && before.totals.received_bytes, seconds);
  const [step, streams] = rates();
  const most = Math.max(0, ...streams.flatMap(([, points]) => points));
  $("rate-now").textContent = `${bytes(volume)}/s now, all streams together; one stream ${bytes(most)}/s at most`;
  redraw = () => draw(step, streams, most);
  redraw();
}

// What is drawn: seconds from point to point, and the points of each stream, the newest last.
function rates() {
  const kept = past ? past.streams.map((stream) => [stream.name, stream.bytes_per_s]) : [];
  const longest = (all) => Math.max(0, ...all.map(([, points]) => points.length));
  const here = [...live];
  // Points from second to second show more, as long as nothing is known that was before them.
  if (kept.length && longest(kept) * past.step_s > longest(here) + 2 * past.step_s) return [past.step_s, kept];
  return [1, here];
}

function draw(step, streams, most) {
  const [width, height, left, bottom] = [$("chart").clientWidth || 600, 180, 64, 20];
  const top = round(most) || 1;
  const span = Math.max(60, step * (Math.max(2, ...streams.map(([, points]) => points.length)) - 1));
  const x = (ago) => left + ((width - left - 4) * (span - ago)) / span;
  const y = (value) => 8 + ((height - bottom - 8) * (top - value)) / top;
  const axes = [];
  for (const value of [0, top / 2, top]) {
    axes.push(svg("path", { d: `M${left},${y(value)}H${width}` }));
    axes.push(svg("text", { x: left - 8, y: y(value) + 4, "text-anchor": "end" }, bytes(value) + "/s"));
  }
  const marks = width < 480 ? 2 : 4;
  for (let mark = 0; mark <= marks; mark += 1) {
    const ago = (span * (marks - mark)) / marks;
    const anchor = mark === marks ? "end" : mark === 0 ? "start" : "middle";
    axes.push(svg("text", { x: x(ago), y: height - 4, "text-anchor": anchor }, ago ? `−${duration(ago)}` : "now"));
  }
  $("axes").replaceChildren(...axes);
  const colour = (i) => `var(${COLOURS[i % COLOURS.length]})`;
  $("lines").replaceChildren(...streams.map(([, points], i) => {
    const d = points.map((value, at) => `${x(step * (points.length - 1 - at)).toFixed(1)},${y(value).toFixed(1)}`);
    return svg("path", { d: d.length ? "M" + d.join("L") : "", style: `stroke: ${colour(i)}` });
  }));
  $("legend").replaceChildren(...streams.map(([name, points], i) => {
    const item = element("li");
    const swatch = element("i");
    swatch.style.background = colour(i);
    item.append(swatch, `${name} ${bytes(points[points.length - 1])}/s`);
    return item;
  }));
}

// A row; each cell has the name of its column, which a narrow page shows beside it.
function row(table, cells) {
  const made = element("tr");
  const names = [...$(table).tHead.rows[0].cells].map((cell) => cell.textContent);
  made.append(...cells.map((cell) => (cell instanceof Node ? cell : element("td", cell))));
  [...made.cells].forEach((cell, i) => { cell.dataset.name = names[i]; });
  return made;
}

function tables(status, seconds) {
  const old = new Map(((before && before.streams) || []).map((stream) => [stream.name, stream]));
  const streams = status.streams || [];
  $("streams").tBodies[0].replaceChildren(...streams.map((stream) => {
    const then = old.get(stream.name);
    const rate = perSecond(stream.received_records, then && then.received_records, seconds);
    const latency = stream.latency_ms || {};
    return row("streams", [
      stream.name, number(stream.connections), count(rate), number(stream.received_records),
      number(stream.published_records), element("td", number(stream.rejected_records), stream.rejected_records > 0 ? "alarm" : ""),
      number(stream.spooled_records), time(latency.p50), time(latency.p99),
    ]);
  }));
  const sinks = streams.flatMap((stream) => (stream.sinks || []).map((sink) => [stream.name, sink]));
  $("sinks").tBodies[0].replaceChildren(...sinks.map(([stream, sink]) => {
    const state = element("td", sink.up ? "up" : "away", sink.up ? "up" : "down");
    if (sink.error) state.title = sink.error;
    return row("sinks", [
      stream, sink.name, state, number(sink.published_records), number(sink.published_messages),
      bytes(sink.published_bytes), number(sink.queue),
      sink.spool_records ? `${number(sink.spool_records)} (${bytes(sink.spool_bytes)})` : "0", number(sink.retries),
    ]);
  }));
}

function rejects(status) {
  const all = status.rejects || [];
  if (all.length === 0) {
    $("rejects").replaceChildren(element("li", "none", "where"));
    return;
  }
  $("rejects").replaceChildren(...all.map((reject) => {
    const item = element("li", reject.reason);
    const at = Number.isFinite(reject.time_unix_ms) ? new Date(reject.time_unix_ms).toLocaleTimeString() + " · " : "";
    const where = [["connection", reject.connection], ["record", reject.record], ["byte", reject.offset]]
      .filter(([, value]) => value !== undefined && value !== null)
      .map(([name, value]) => `${name} ${value}`);
    item.append(element("div", at + [reject.stream, ...where].join(", "), "where"));
    if (reject.text) item.append(element("code", reject.text));
    return item;
  }));
}

function show(status) {
  newsAt = Date.now();
  // A restarted process counts from zero.
  if (before && status.uptime_s < before.uptime_s) {
    before = null;
    past = null;
    live.clear();
  }
  const seconds = before ? status.uptime_s - before.uptime_s : NaN;
  if (before && !(seconds > 0)) return;
  state(status.state);
  totals(status);
  stages(status, seconds);
  chart(status, seconds);
  tables(status, seconds);
  rejects(status);
  $("footer").textContent = `Version ${status.version}, up ${duration(status.uptime_s)}`;
  before = status;
}

function state(name) {
  $("state").textContent = name === "lost" ? "no connection" : name;
  $("state").dataset.state = name;
}

// A reload keeps the token that the address of the page carries.
const query = location.search;

async function poll() {
  try {
    const answer = await fetch("v1/status.json" + query, { cache: "no-store" });
    if (answer.ok) show(await answer.json());
    else $("state").title = `status ${answer.status}`;
  } catch {
    // The service is away; `watch` says so.
  }
}

async function remember() {
  try {
    const answer = await fetch("v1/status/history.json" + query, { cache: "no-store" });
    if (answer.ok) past = await answer.json();
  } catch {
    // As above.
  }
}

function listen() {
  events = new EventSource("v1/status/events" + query);
  events.onmessage = (event) => {
    try {
      show(JSON.parse(event.data));
    } catch (error) {
      console.error(error);
    }
  };
}

function watch() {
  const silent = Date.now() - newsAt;
  if (silent > LOST_MS) state(newsAt ? "lost" : "connecting");
  // The browser tries again by itself unless the answer was a refusal; polling bridges both.
  if (silent > 2 * POLL_MS) poll();
  if (events && events.readyState === EventSource.CLOSED) listen();
}

remember();
poll();
listen();
addEventListener("resize", () => redraw());
setInterval(watch, POLL_MS);
setInterval(remember, REMEMBER_MS);

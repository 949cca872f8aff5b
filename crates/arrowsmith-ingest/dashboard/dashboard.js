// SPDX-License-Identifier: Apache-2.0
// Draws the objects of /v1/status/events, or of /v1/status.json where events do not get through. It only reads;
// all text goes in as text, never as markup, because it comes from whoever sends records.
"use strict";

const HISTORY = 120; // Points of the chart: seconds.
const LOST_MS = 5000; // Without news for so long, the page says so.
const POLL_MS = 1000;

const $ = (id) => document.getElementById(id);
const history = [];
let before = null;
let newsAt = 0;
let events = null;

function number(value) {
  return Number.isFinite(value) ? Math.round(value).toLocaleString("en-US") : "–";
}

function scaled(value, units, step, digits = 3) {
  if (!Number.isFinite(value)) return "–";
  let unit = 0;
  while (Math.abs(value) >= step && unit < units.length - 1) {
    value /= step;
    unit += 1;
  }
  const text = unit === 0 ? Math.round(value).toString() : value.toPrecision(digits);
  return (text + " " + units[unit]).trim();
}

const bytes = (value) => scaled(value, ["B", "kB", "MB", "GB", "TB", "PB"], 1000);
const count = (value) => scaled(value, ["", "k", "M", "G", "T"], 1000);

function time(ms) {
  if (!Number.isFinite(ms)) return "–";
  if (ms < 1) return Math.round(ms * 1000) + " µs";
  return ms < 1000 ? ms.toPrecision(3) + " ms" : (ms / 1000).toPrecision(3) + " s";
}

function duration(s) {
  if (!Number.isFinite(s)) return "–";
  const [d, h, m] = [Math.floor(s / 86400), Math.floor(s / 3600) % 24, Math.floor(s / 60) % 60];
  return d ? `${d} d ${h} h` : h ? `${h} h ${m} min` : m ? `${m} min ${Math.floor(s % 60)} s` : `${Math.floor(s)} s`;
}

function element(name, text, className) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  if (className) made.className = className;
  return made;
}

// What a counter grew by in a second since the status before; a counter that fell belongs to a new process.
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
  const memory = bytes(status.memory_bytes);
  shown.push(["Text in memory", status.memory_bytes_max ? `${memory} of ${bytes(status.memory_bytes_max)}` : memory]);
  $("totals").replaceChildren(...shown.map(([name, value]) => {
    const pair = element("div");
    pair.append(element("dt", name), element("dd", value));
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
    box.append(element("div", `p50 ${time(stage.p50_ms)} · p99 ${time(stage.p99_ms)}`, "soft"));
    return box;
  }));
}

function chart(status, seconds) {
  const volume = perSecond(status.totals && status.totals.received_bytes,
    before && before.totals && before.totals.received_bytes, seconds);
  if (Number.isFinite(volume)) history.push(volume);
  if (history.length > HISTORY) history.shift();
  const most = Math.max(1, ...history);
  const points = history.map((value, i) =>
    `${(600 * (HISTORY - history.length + i)) / (HISTORY - 1)},${116 - (110 * value) / most}`);
  const line = points.length ? "M" + points.join("L") : "";
  $("line").setAttribute("d", line);
  $("area").setAttribute("d", line && `${line}L600,120L${points[0].split(",")[0]},120Z`);
  $("rate-now").textContent = `${bytes(volume)}/s now, ${bytes(history.length ? most : NaN)}/s at most`;
}

function row(cells) {
  const made = element("tr");
  made.append(...cells.map((cell) => (cell instanceof Node ? cell : element("td", cell))));
  return made;
}

function tables(status, seconds) {
  const old = new Map(((before && before.streams) || []).map((stream) => [stream.name, stream]));
  const streams = status.streams || [];
  $("streams").tBodies[0].replaceChildren(...streams.map((stream) => {
    const then = old.get(stream.name);
    const rate = perSecond(stream.received_records, then && then.received_records, seconds);
    const latency = stream.latency_ms || {};
    return row([
      stream.name, number(stream.connections), count(rate), number(stream.received_records),
      number(stream.published_records), element("td", number(stream.rejected_records), stream.rejected_records > 0 ? "alarm" : ""),
      number(stream.spooled_records), time(latency.p50), time(latency.p99),
    ]);
  }));
  const sinks = streams.flatMap((stream) => (stream.sinks || []).map((sink) => [stream.name, sink]));
  $("sinks").tBodies[0].replaceChildren(...sinks.map(([stream, sink]) => {
    const state = element("td", sink.up ? "up" : "away", sink.up ? "up" : "down");
    if (sink.error) state.title = sink.error;
    return row([
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
  // A process that was started anew counts from zero.
  if (before && status.uptime_s < before.uptime_s) {
    before = null;
    history.length = 0;
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

poll();
listen();
setInterval(watch, POLL_MS);

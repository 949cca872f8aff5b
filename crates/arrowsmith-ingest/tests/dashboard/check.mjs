// SPDX-License-Identifier: Apache-2.0
// Opens the dashboard in headless Chromium and looks at what a person would see.
//
//   node check.mjs NODE_MODULES recorded FOLDER        the page of FOLDER with states made up here
//   node check.mjs NODE_MODULES live URL [PICTURE]     a running service that records go through
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import http from "node:http";
import { createRequire } from "node:module";
import path from "node:path";

const [modules, mode, what, picture] = process.argv.slice(2);
const { chromium } = createRequire(path.join(modules, "x.js"))("playwright-core");
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM || "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-quic"],
});

// Opens a page, and collects its errors and its requests to other hosts.
async function open(url, viewport) {
  const page = await browser.newPage({ viewport });
  const faults = [];
  page.on("pageerror", (error) => faults.push(String(error)));
  page.on("console", (message) => {
    // A service that was stopped on purpose is not an error of the page.
    if (message.type() === "error" && !/net::ERR|Failed to load/.test(message.text())) faults.push(message.text());
  });
  page.on("request", (request) => {
    if (!request.url().startsWith(new URL(url).origin) && !request.url().startsWith("data:")) {
      faults.push("a request to another host: " + request.url());
    }
  });
  await page.goto(url, { waitUntil: "domcontentloaded" });
  return { page, faults };
}

const text = (page, selector) => page.locator(selector).innerText();
const until = (page, selector, expected) =>
  page.waitForFunction(([s, e]) => document.querySelector(s)?.innerText.includes(e), [selector, expected], { timeout: 15000 });

async function fits(page) {
  const [wide, seen] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
  assert.ok(wide <= seen, `the page is ${wide} wide where ${seen} are seen`);
}

// A state as the service tells it, `t` seconds after its start.
function status(t, changes = {}) {
  const stage = (name, i) => ({
    name, records: 1000 * t, bytes: 250_000 * t, queue: i === 4 ? 64 : 3, queue_max: 64,
    busy_s: i === 1 ? 0.5 * t : 0.1 * t, p50_ms: 0.25, p99_ms: 12.5,
  });
  return {
    version: "9.8.7", uptime_s: t, state: "running", connections: 3, memory_bytes: 1_500_000, memory_bytes_max: 64_000_000,
    totals: { received_records: 1000 * t, received_bytes: 250_000 * t, published_records: 990 * t, rejected_records: 4 * t,
      spooled_records: 6 * t, in_flight_records: 0 },
    stages: ["receive", "parse", "resize", "serialize", "publish"].map(stage),
    streams: [{ name: "trip", connections: 3, received_bytes: 250_000 * t, received_records: 1000 * t, published_records: 990 * t, rejected_records: 4 * t,
      spooled_records: 6 * t, latency_ms: { p50: 1.5, p99: 2500 },
      sinks: [{ name: "pulsar-0", kind: "pulsar", up: false, published_records: 990 * t, published_messages: t, published_bytes: 1e9,
        spool_records: 6 * t, spool_bytes: 5e6, queue: 2, retries: 7, error: "connection refused" }] }],
    rejects: [{ time_unix_ms: 1_700_000_000_000, stream: "trip", connection: 5, record: 17, offset: 0,
      reason: "expected a number, found <b id=evil>", text: "<script>window.evil = 1</script>" }],
    ...changes,
  };
}

async function recorded() {
  let state = status(1);
  let listeners = [];
  const types = { ".html": "text/html", ".css": "text/css", ".js": "text/javascript" };
  const server = http.createServer(async (request, response) => {
    const name = request.url === "/" ? "/index.html" : request.url;
    if (name === "/v1/status.json") {
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify(state));
    } else if (name === "/v1/status/history.json") {
      response.setHeader("content-type", "application/json");
      const rates = (rate) => Array.from({ length: 720 }, (_, i) => rate * (i % 100));
      response.end(JSON.stringify({ step_s: 5, streams: [
        { name: "trip", bytes_per_s: rates(1000), records_per_s: rates(1) },
        { name: "battery", bytes_per_s: rates(2000), records_per_s: rates(2) }] }));
    } else if (name === "/v1/status/events") {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.flushHeaders();
      listeners.push(response);
    } else if (types[path.extname(name)] && path.dirname(name) === "/") {
      response.setHeader("content-type", types[path.extname(name)]);
      response.end(await readFile(path.join(what, name)));
    } else {
      response.writeHead(404).end();
    }
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  const url = `http://127.0.0.1:${server.address().port}/`;
  const tell = (next) => {
    state = next;
    listeners.forEach((listener) => listener.write(`data: ${JSON.stringify(state)}\n\n`));
  };
  const { page, faults } = await open(url, { width: 1280, height: 900 });
  await until(page, "#totals", "1,000");
  while (listeners.length === 0) await new Promise((done) => setTimeout(done, 10));

  tell(status(3));
  await until(page, "#totals", "3,000");
  assert.equal(await text(page, "#state"), "running");
  assert.deepEqual(await page.locator("#stages h3").allInnerTexts(), ["receive", "parse", "resize", "serialize", "publish"]);
  // 2000 records in 2 s, half a core, and the stage that takes longest is marked.
  const parse = await text(page, "[data-stage=parse]");
  for (const part of ["1.00 k rec/s", "250 kB/s", "50 % of a core", "250 µs", "12.5 ms"]) assert.ok(parse.includes(part), parse);
  assert.equal(await page.locator("#stages .longest h3").innerText(), "parse");
  assert.equal(await page.locator("[data-stage=publish] .bar i.full").count(), 1);
  assert.match(await text(page, "#balance"), /3,000 received = 2,970 published \+ 12 rejected \+ 18 spooled \+ 0 on/);
  assert.match(await text(page, "#streams tbody"), /trip\s+3\s+1.00 k\s+3,000\s+2,970\s+12\s+18\s+1.50 ms\s+2.50 s/);
  assert.match(await text(page, "#sinks tbody"), /pulsar-0\s+away\s+2,970\s+3\s+1.00 GB\s+2\s+18 \(5.00 MB\)\s+7/);
  assert.match(await text(page, "#rate-now"), /250 kB\/s now/);
  // An hour of two streams that was before the page, with axes.
  assert.equal(await page.locator("#lines path").count(), 2);
  for (const line of await page.locator("#lines path").all()) {
    assert.ok((await line.getAttribute("d")).split("L").length === 720);
  }
  const axes = await page.locator("#axes text").allTextContents();
  for (const mark of ["200 kB/s", "100 kB/s", "0 B/s", "−59 min 55 s", "now"]) assert.ok(axes.includes(mark), axes.join());
  assert.match(await text(page, "#legend"), /trip .*battery/s);
  // What senders wrote is shown and never obeyed.
  assert.ok((await text(page, "#rejects")).includes("<script>window.evil = 1</script>"));
  assert.equal(await page.locator("#evil").count(), 0);
  assert.equal(await page.evaluate(() => window.evil), undefined);

  tell(status(4, { state: "draining", streams: [], rejects: [], stages: undefined, totals: {}, memory_bytes: null }));
  await until(page, "#state", "draining");
  assert.ok((await text(page, "#totals")).includes("–"));
  assert.equal(await text(page, "#rejects"), "none");

  // A new process counts from zero; no rate is made across it.
  tell(status(0.5));
  await until(page, "#totals", "500");
  assert.ok((await text(page, "#rate-now")).startsWith("–"));

  const phone = await open(url, { width: 390, height: 844 });
  await until(phone.page, "#stages", "publish");
  await fits(phone.page);
  // Nothing is cut off: tables are lists of named cells there.
  for (const table of ["#streams", "#sinks"]) {
    const [inner, outer] = await phone.page.evaluate((s) => {
      const box = document.querySelector(s).parentElement;
      return [box.scrollWidth, box.clientWidth];
    }, table);
    assert.ok(inner <= outer, `${table} is ${inner} wide in ${outer}`);
  }
  assert.equal(await phone.page.locator("#streams td").nth(3).getAttribute("data-name"), "Received");
  for (const part of await phone.page.locator("#stages .times span").all()) {
    assert.ok((await part.boundingBox()).height < 30, "a time breaks before its unit");
  }
  assert.equal(await phone.page.evaluate(() => getComputedStyle(document.querySelector("#stages")).gridTemplateColumns.split(" ").length), 1);

  // The service goes away, and comes back.
  listeners.forEach((listener) => listener.destroy());
  listeners = [];
  const port = server.address().port;
  server.closeAllConnections();
  await new Promise((done) => server.close(done));
  await until(page, "#state", "no connection");
  state = status(2);
  await new Promise((done) => server.listen(port, "127.0.0.1", done));
  await until(page, "#state", "running");
  await until(page, "#totals", "2,000");
  assert.deepEqual([...faults, ...phone.faults], []);
  server.closeAllConnections();
  server.close();
}

async function live() {
  const { page, faults } = await open(what, { width: 1280, height: 1180 });
  await until(page, "#state", "running");
  await page.waitForFunction(() => {
    const rate = document.querySelector("[data-stage=parse] .big")?.innerText;
    return rate && !/^(–|0) /.test(rate);
  }, null, { timeout: 15000 });
  // Files take batches: nothing is serialized.
  assert.deepEqual(await page.locator("#stages h3").allInnerTexts(), ["receive", "parse", "resize", "publish"]);
  const received = (await text(page, "#totals > div:nth-child(1) dd")).replaceAll(",", "");
  assert.ok(Number(received) > 0, received);
  assert.ok((await page.locator("#streams tbody tr").count()) > 0);
  assert.ok((await page.locator("#sinks tbody tr").count()) > 0);
  await fits(page);
  if (picture) {
    // A few seconds, so that there is a line to see.
    await page.waitForTimeout(8000);
    await page.screenshot({ path: picture, fullPage: true });
  }
  await page.setViewportSize({ width: 390, height: 844 });
  await fits(page);
  if (picture) await page.screenshot({ path: picture.replace(/\.png$/, "-phone.png"), fullPage: true });
  assert.deepEqual(faults, []);
  console.log(received);
}

try {
  await (mode === "recorded" ? recorded() : live());
} finally {
  await browser.close();
}

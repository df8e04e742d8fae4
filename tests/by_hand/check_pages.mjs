// Open the pages in Chromium, measure them, use them, and take screenshots, at two widths, in light
// and in dark:  node check_pages.mjs FOLDER
// Needs Debian's chromium, and `npm install puppeteer-core axe-core` beside it.

import { readFileSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { resolve } from "node:path";

const require = createRequire(resolve(process.cwd(), "x.js"));
const puppeteer = require("puppeteer-core");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf-8");
const folder = resolve(process.argv[2]);
const SECONDS = 2;
const BYTES = 2_500_000;
const LETTERS = 11;
let bad = 0;

function check(isFine, text) {
  bad += !isFine;
  console.log(`  ${isFine ? "ok" : "BAD"}: ${text}`);
}

const browser = await puppeteer.launch({
  executablePath: "/usr/bin/chromium",
  args: ["--no-sandbox"],
});

async function opened(file, width, scheme) {
  const page = await browser.newPage();
  page.failures = [];
  page.on("request", (one) => one.url().startsWith("file:") || page.failures.push(one.url()));
  page.on("pageerror", (error) => page.failures.push(error.message));
  page.on("console", (one) => one.type() === "error" && page.failures.push(one.text()));
  await page.setViewport({ width, height: 900 });
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
  await page.goto(`file://${folder}/${file}`, { waitUntil: "load" });
  return page;
}

for (const name of ["one", "some", "thousand", "long"]) {
  const bytes = statSync(`${folder}/${name}.html`).size;
  console.log(`${name}: ${bytes} bytes`);
  check(bytes < BYTES, `less than ${BYTES} bytes`);
  for (const width of [390, 1280]) {
    for (const scheme of ["light", "dark"]) {
      const shot = `${folder}/${name}-${width}-${scheme}`;
      const began = performance.now();
      const page = await opened(`${name}.html`, width, scheme);
      await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => done())));
      const seconds = (performance.now() - began) / 1000;
      console.log(`${name} at ${width} px in ${scheme}`);
      check(seconds < SECONDS, `opened in ${seconds.toFixed(2)} s`);
      await page.screenshot({ path: `${shot}.png` });
      const cut = await page.$$eval(".reason", (all) =>
        all.filter((one) => one.scrollWidth > one.clientWidth).length);
      check(width > 720 || !cut, `${cut} findings are cut off`);
      await page.evaluate(() => {  // two of each kind: axe would take minutes for all of them
        const seen = {};
        for (const one of document.querySelectorAll("details")) {
          seen[one.className] = (seen[one.className] || 0) + 1;
          if (seen[one.className] > 2 && !one.textContent.includes("Test to paste")) one.remove();
          one.open = true;
        }
      });
      await page.screenshot({ path: `${shot}-open.png`, fullPage: true });
      const [overflow, letters] = await page.evaluate(() => [
        document.documentElement.scrollWidth - innerWidth,
        Math.min(...[...document.querySelectorAll("svg text")].map((text) =>
          parseFloat(getComputedStyle(text).fontSize) * text.getScreenCTM().a)),
      ]);
      check(overflow <= 0, "no wider than the window");
      check(letters >= LETTERS, `letters of pictures are ${letters} px and more`);
      await page.evaluate(axe);
      const found = await page.evaluate(() => globalThis.axe.run(document));
      check(!found.violations.length, `${found.passes.length} rules of axe`);
      for (const { id, help, nodes } of found.violations) {
        console.log(`    ${id}: ${help}; ${nodes.length} times, as in ${nodes[0].html.slice(0, 150)}`);
      }
      check(!page.failures.length, `nothing from elsewhere, and no errors ${page.failures}`);
      await page.close();
    }
  }
}

console.log("by hand");
const page = await opened("some.html", 1280, "light");
const count = () => page.$eval("output", (one) => one.textContent);
check(await count() === "200 of 200 shown", await count());
await page.click("input[value=passed]");
check(await count() === "24 of 200 shown", `without those that passed, ${await count()}`);
await page.type("input[name=text]", "counted_once");
check(await count() === "1 of 200 shown", `with a text, ${await count()}`);
await page.keyboard.press("Tab");
await page.keyboard.press("Enter");
check(await page.$eval("details.failed:not([hidden])", (one) => one.open), "Enter opens a row");
const active = () => page.evaluate(() => document.activeElement.textContent);
for (const part of ["Link to this test", "world 3", "Copy the test", "def test_", "in world", "1  +0:00"]) {
  await page.keyboard.press("Tab");
  check((await active()).includes(part), `then the tab key is at ${part}`);
}
await page.keyboard.press("ArrowDown");
check((await active()).includes("verb     send_text() m1"), "the arrow key goes to the next row");
const lit = await page.$$eval(".lit", (rows) => rows.map((row) => row.dataset.number).join());
check(lit === "2,3,4,5", `it lights itself and its effects, ${lit}`);
await page.screenshot({ path: `${folder}/keyboard.png` });
await page.keyboard.press("Tab");
check(await page.evaluate(() => !document.activeElement.closest("svg")), "and the tab key leaves the timeline");
await page.click("button");
await page.waitForFunction(() => document.querySelector("button").textContent === "Copied");
const link = await page.$eval("details.failed:not([hidden]) a", (one) => one.href);
await page.close();
for (const script of [true, false]) {
  const other = await browser.newPage();
  await other.setJavaScriptEnabled(script);
  await other.goto(link, { waitUntil: "load" });
  await other.screenshot({ path: `${folder}/linked-${script}.png` });
  await other.emulateMediaType("print");
  await other.pdf({ path: `${folder}/print-${script}.pdf` });
  await other.close();
}
// What is looked at only: a picture by itself, and the page of pytest-html, which is not ours.
for (const [name, file] of [["picture", "picture.svg"], ["rows", "rows.html"]]) {
  for (const scheme of ["light", "dark"]) {
    const other = await opened(file, 1280, scheme);
    await other.evaluate(() => document.querySelectorAll(".logexpander").forEach((one) => one.click()));
    await other.screenshot({ path: `${folder}/${name}-${scheme}.png`, fullPage: true });
    await other.close();
  }
}
await browser.close();
console.log(bad ? `${bad} BAD` : "all fine");
process.exit(bad ? 1 : 0);

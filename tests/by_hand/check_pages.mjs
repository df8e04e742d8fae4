// Open the pages in Chromium, measure, look for traps of the keyboard and for low contrast, and
// take screenshots, in light and in dark:  node check_pages.mjs FOLDER
// Needs Debian's chromium, and `npm install puppeteer-core axe-core` beside it.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { resolve } from "node:path";

const require = createRequire(resolve(process.cwd(), "x.js"));
const puppeteer = require("puppeteer-core");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf-8");
const folder = resolve(process.argv[2]);
let bad = 0;

const browser = await puppeteer.launch({
  executablePath: "/usr/bin/chromium",
  args: ["--no-sandbox"],
});
for (const name of ["thousand", "long"]) {
  for (const scheme of ["light", "dark"]) {
    const page = await browser.newPage();
    const requests = [];
    page.on("request", (request) => requests.push(request.url()));
    await page.setViewport({ width: 1280, height: 900 });
    await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
    const began = performance.now();
    await page.goto(`file://${folder}/${name}.html`, { waitUntil: "load" });
    await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => done())));
    const seconds = (performance.now() - began) / 1000;
    await page.screenshot({ path: `${folder}/${name}-${scheme}.png` });
    await page.evaluate(() => document.querySelectorAll("details").forEach((one, place) => {
      if (place < 3) one.open = true;
    }));
    await page.screenshot({ path: `${folder}/${name}-${scheme}-open.png` });
    await page.evaluate(() => document.querySelectorAll("details").forEach((one, place) => {
      if (place >= 30) one.remove();  // axe would take minutes for all of them
    }));
    await page.evaluate(axe);
    const found = await page.evaluate(() => globalThis.axe.run(document));
    const elsewhere = requests.filter((url) => !url.startsWith("file://"));
    bad += found.violations.length + elsewhere.length + (seconds > 2 ? 1 : 0);
    console.log(`${name} ${scheme}: opened in ${seconds.toFixed(2)} s, ` +
      `${found.violations.length} violations, ${found.passes.length} passes, ` +
      `${elsewhere.length} requests elsewhere`);
    for (const one of found.violations) {
      console.log(`  ${one.id}: ${one.help}; ${one.nodes.length} times, as in ${one.nodes[0].html.slice(0, 150)}`);
    }
    // The keyboard goes through all of it, and out of each.
    let stops = 0;
    const seen = new Set();
    for (; stops < 80; stops += 1) {
      await page.keyboard.press("Tab");
      const place = await page.evaluate(() => {
        const all = [...document.querySelectorAll("*")];
        return all.indexOf(document.activeElement);
      });
      if (seen.has(place)) break;
      seen.add(place);
    }
    console.log(`  ${seen.size} stops of the tab key, none twice in a row`);
    if (seen.size < 5) bad += 1;
    await page.close();
  }
}
// What is looked at only: a picture by itself, and the page of pytest-html, which is not ours.
for (const [name, file] of [["picture", "picture.svg"], ["rows", "rows.html"]]) {
  for (const scheme of ["light", "dark"]) {
    const page = await browser.newPage();
    await page.setViewport({ width: 1280, height: 900 });
    await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
    await page.goto(`file://${folder}/${file}`, { waitUntil: "load" });
    await page.evaluate(() => document.querySelectorAll(".logexpander").forEach((one) => one.click()));
    await page.screenshot({ path: `${folder}/${name}-${scheme}.png`, fullPage: true });
    await page.close();
  }
}
await browser.close();
process.exit(bad ? 1 : 0);

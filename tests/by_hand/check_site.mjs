// Read the built site as its visitors do, in Chromium:  node check_site.mjs SITE [PART OF A PATH]
// Every page with axe, on a phone and on a desk, in light and in dark; and what the search shows first
// for searches.txt. With a part of a path, only such pages. Needs Debian's chromium, and
// `npm install puppeteer-core axe-core` in the working folder.

import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { resolve } from "node:path";

const require = createRequire(resolve(process.cwd(), "x.js"));
const puppeteer = require("puppeteer-core");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf-8");
const site = resolve(process.argv[2]);
const part = process.argv[3] ?? "";
const found = new Map(); // the places of each finding: what is in a template is on every page

function complain(finding, place) {
  found.set(finding, [...(found.get(finding) ?? []), place]);
}

const browser = await puppeteer.launch({
  executablePath: "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-background-networking", "--allow-file-access-from-files"],
});

async function read(names, width, scheme) {
  const page = await browser.newPage();
  page.on("request", (request) => {
    if (!/^(file|data):/.test(request.url())) complain(`loaded from elsewhere: ${request.url()}`, page.url());
  });
  page.on("pageerror", (error) => complain(`script: ${error.message}`, page.url()));
  await page.setViewport({ width, height: 900 });
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
  for (const name of names) {
    const place = `${name} (${width} px, ${scheme})`;
    await page.goto(`file://${site}/${name}`, { waitUntil: "load" });
    await page.evaluate(axe);
    const { violations } = await page.evaluate(() => globalThis.axe.run(document));
    for (const { id, impact, nodes } of violations) {
      for (const { html, any, all, none } of nodes) {
        const why = [...any, ...all, ...none][0]?.message ?? "";
        complain(`${id} (${impact}): ${why}\n  ${html.slice(0, 160)}`, place);
      }
    }
    const wider = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    if (wider > 0) complain("wider than the window", place);
  }
  await page.close();
}

async function search(query, expected) {
  const page = await browser.newPage();
  await page.goto(`file://${site}/search.html?q=${encodeURIComponent(query)}`, { waitUntil: "load" });
  const link = await page.waitForSelector("ul.search li a", { timeout: 5000 }).catch(() => undefined);
  const shown = (await link?.evaluate((one) => one.getAttribute("href"))) ?? "nothing";
  if (shown.replace(/\.html.*/, "") !== expected) complain(`search for "${query}": shows ${shown}`, expected);
  await page.close();
}

const names = readdirSync(site, { recursive: true })
  .filter((name) => name.endsWith(".html") && !name.startsWith("_") && name.includes(part))
  .sort();
await Promise.all([
  read(names, 390, "light"),
  read(names, 390, "dark"),
  read(names, 1280, "light"),
  read(names, 1280, "dark"),
]);
const searches = readFileSync(new URL("searches.txt", import.meta.url), "utf-8").matchAll(/^([^#\n].*) = (.*)$/gm);
for (const [, query, expected] of searches) {
  if (expected.includes(part)) await search(query, expected);
}
for (const [finding, places] of found) console.log(`${finding}\n  ${places.length} times, as in ${places[0]}`);
console.log(`${names.length} pages, ${found.size} findings`);
await browser.close();
process.exit(found.size ? 1 : 0);

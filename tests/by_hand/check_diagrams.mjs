// Parse a sequence diagram with the real Mermaid:  node check_diagrams.mjs FOLDER
// Needs `npm install mermaid jsdom` beside it.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";

const require = createRequire(resolve(process.cwd(), "x.js"));
const { JSDOM } = require("jsdom");
const { window } = new JSDOM("");
globalThis.window = window;
globalThis.document = window.document;
const root = resolve(process.cwd(), "node_modules/mermaid/dist/mermaid.core.mjs");
const { default: mermaid } = await import(pathToFileURL(root).href);
const text = readFileSync(`${resolve(process.argv[2])}/diagram.mmd`, "utf-8");
const result = await mermaid.parse(text);
console.log(`${text.split("\n").length} lines, parsed as ${result.diagramType}`);

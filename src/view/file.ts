import { hash } from "node:crypto";
import { gzipSync } from "node:zlib";
import { firstBytes } from "../platform/bounded-reads.ts";
import { targetOf } from "../platform/result-file.ts";
import type { PageSource } from "./page-source.ts";
import type { Trace } from "./trace-file.ts";

/** Files that begin so were written by `fileOf`. */
const FILE_START =
  '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta name="generator" content="Belay trace">';

/**
 * A trace as one HTML file, in pieces. Its data is base64 in elements, so that no
 * text of a session stands in it as markup. The policy lets this one script and this
 * one style work, and nothing else.
 */
export function* fileOf({ head, pages, chunks }: Trace, source: PageSource): Iterable<string> {
  yield FILE_START;
  yield opening(source, policyOf(source));
  yield block("head", gzipSync(JSON.stringify(head)));
  for (const [at, page] of pages.entries()) yield block(`c${at}`, page);
  for (const [at, chunk] of chunks.entries()) yield block(`x${at}`, chunk);
  yield "</body></html>\n";
}

const block = (id: string, bytes: Uint8Array) =>
  `<script type="text/plain" id="${id}">${Buffer.from(bytes).toString("base64")}</script>\n`;

/** The page without data: a server has the data, which the page asks it for. */
export function livePage(source: PageSource): string {
  const start = FILE_START.replace("<html ", "<html data-live ");
  return `${start}${opening(source, livePolicy(source))}</body></html>\n`;
}

export const livePolicy = (source: PageSource) => `${policyOf(source)}; connect-src 'self'`;

function policyOf({ script, style }: PageSource): string {
  const digest = (text: string) => `'sha256-${hash("sha256", text, "base64")}'`;
  const own = `script-src ${digest(script)}; style-src ${digest(style)}`;
  return `default-src 'none'; ${own}; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'`;
}

function opening({ script, style }: PageSource, policy: string): string {
  return `<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width,initial-scale=1"><meta name="referrer" content="no-referrer">
<meta name="color-scheme" content="light dark"><title>Belay</title><style>${style}</style></head>
<body><div id="page"><p>${BEFORE}</p></div><script>${script}</script>
`;
}

/** Stays in sight where the script does not run. */
const BEFORE = "The trace is shown here by its script. It needs a browser of 2023 or later.";

/**
 * True if a page may be written to this path: a file that is there can be read, and is such a
 * page. Devices and folders are for the writer to judge.
 */
export function isReplaceable(path: string): boolean {
  const { mode, isFolder, isSpecial } = targetOf(path);
  if (mode === null || isFolder || isSpecial) return true;
  return firstBytes(path, FILE_START.length).toString() === FILE_START;
}

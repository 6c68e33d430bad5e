import { hash } from "node:crypto";
import { visible } from "../platform/visible.ts";
import { pageStyle } from "./page-source.ts";

/**
 * A page without a script, in pieces: its policy lets its style work, and nothing else.
 *
 * @param title a plain text
 * @param rules further rules of its style
 * @param body HTML
 */
export async function* staticPage(title: string, rules: string, body: Iterable<string>): AsyncIterable<string> {
  const style = `${await pageStyle()}${rules}`;
  const own = `style-src 'sha256-${hash("sha256", style, "base64")}'`;
  const policy = `default-src 'none'; ${own}; base-uri 'none'; form-action 'none'`;
  yield `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="generator" content="Belay">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width,initial-scale=1"><meta name="referrer" content="no-referrer">
<meta name="color-scheme" content="light dark"><title>${escaped(title)}</title><style>${style}</style></head>
<body>
`;
  yield* body;
  yield "</body></html>\n";
}

/** A text from anywhere as text of HTML, with what would hide or turn words made visible. */
export function escaped(text: string): string {
  return visible(text).replaceAll(/[&<>"']/g, (found) => `&#${found.charCodeAt(0)};`);
}

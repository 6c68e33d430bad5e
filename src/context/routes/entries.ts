/** A line of an AGENTS.md that says where something is. */
export interface RouteEntry {
  label: string;
  /** Relative to the root of the context; a folder keeps its final `/`. */
  path: string;
  /** Empty when the line has none. */
  description: string;
  /** Id of the document that holds the line. */
  source: string;
}

const ROUTE_FILE = /(?:^|\/)AGENTS\.md(?:~\d+)?$/;

const FENCE = /^\s*(?:[-*+]\s+)?(`{3,}|~{3,})(.*)$/s;
const BULLET = /^\s*[-*+]\s/;
const LABEL = String.raw`\[((?:\\.|[^\]\\])*)\]`;
const TARGET = String.raw`(?:<([^<>]*)>|((?:[^()\s<]|\([^()\s]*\))(?:[^()\s]|\([^()\s]*\))*))`;
const TITLE = String.raw`(?:\s+(?:"[^"]*"|'[^']*'|\([^()]*\)))?`;
const ENTRY = new RegExp(String.raw`^\s*[-*+]\s+(?:\*\*|__)?${LABEL}\(\s*${TARGET}${TITLE}\s*\)(?:\*\*|__)?(.*)$`);
const SEPARATOR = /^\s*(?:[—–:]|-+(?=\s))?\s*/;
const CONTINUATION = /^\s+\S/;

const EXTERNAL = /^(?:[a-z][a-z0-9+.-]*:|\/\/)/i;

/**
 * True if a document is an AGENTS.md, at any depth (ids that collide have `~2` and so on behind the
 * name).
 */
export function isRouteFile(id: string): boolean {
  return ROUTE_FILE.test(id);
}

/**
 * The entries `- [label](path) — description` of an AGENTS.md, in its order. Paths are relative to
 * its folder, those with a leading `/` to the root of the context, above which none climbs.
 * External links, links without a path (`#section`) and fenced code are left out.
 */
export function parseRoutes(id: string, markdown: string): RouteEntry[] {
  const entries: { readonly entry: RouteEntry; readonly description: string[] }[] = [];
  let isOpen = false;
  for (const line of outsideFences(markdown)) {
    if (isOpen && CONTINUATION.test(line) && !BULLET.test(line)) {
      entries.at(-1)?.description.push(line.trim());
      continue;
    }
    const entry = entryOf(id, line);
    isOpen = entry !== undefined;
    if (entry) entries.push({ entry, description: [entry.description] });
  }
  // Joined once: to lengthen a text line by line takes minutes for a megabyte of lines.
  return entries.map(({ entry, description }) => ({ ...entry, description: description.join(" ").trim() }));
}

function* outsideFences(markdown: string): Generator<string> {
  let fence: string | undefined;
  for (const line of markdown.split(/\r\n|\r|\n/)) {
    const mayBeFence = line.includes("```") || line.includes("~~~");
    const [, mark = "", info = ""] = (mayBeFence && FENCE.exec(line)) || [];
    const opens = mark.startsWith("~") || (mark !== "" && !info.includes("`"));
    if (fence === undefined) yield opens ? "" : line;
    if (fence === undefined && opens) fence = mark;
    else if (fence !== undefined && mark.startsWith(fence) && info.trim() === "") fence = undefined;
  }
}

function entryOf(source: string, line: string): RouteEntry | undefined {
  const [, label = "", angled, plain, rest = ""] = (line.includes("](") && ENTRY.exec(line)) || [];
  const target = (angled ?? plain ?? "").trim();
  if (EXTERNAL.test(target)) return undefined;
  const path = resolve(source, decodePath(target.split("#", 1)[0] ?? ""));
  if (path === "") return undefined;
  return { label: plainText(label), path, description: rest.replace(SEPARATOR, "").trim(), source };
}

/** Path from the root of the context; empty for the root itself and for an empty target. */
function resolve(source: string, target: string): string {
  if (target === "") return "";
  const resolved: string[] = target.startsWith("/") ? [] : source.split("/").slice(0, -1);
  for (const segment of target.split("/")) {
    if (segment === "..") resolved.pop();
    else if (segment !== "" && segment !== ".") resolved.push(segment);
  }
  const folder = /(?:^|\/)\.{0,2}$/.test(target) && resolved.length > 0;
  return resolved.join("/") + (folder ? "/" : "");
}

/** `%20` and the like stand for characters of the file name; a stray `%` stands for itself. */
function decodePath(target: string): string {
  try {
    return decodeURIComponent(target);
  } catch {
    return target;
  }
}

function plainText(label: string): string {
  return label
    .replace(/\\([^A-Za-z0-9\s])/g, "$1")
    .replace(/[`*]/g, "")
    .trim();
}

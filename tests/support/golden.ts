import { readdirSync, readFileSync } from "node:fs";
import type { ExecLimits, Json } from "../../src/index.ts";

/** A cell of a golden file with what its envelope must hold. */
export interface GoldenCell {
  readonly source: string;
  /** Line of the file on which the cell begins, 1-based. */
  readonly line: number;
  readonly limits: Partial<ExecLimits>;
  /** A part of the envelope, or undefined where the cell only prepares the next. */
  readonly expected: Json | undefined;
}

const SEPARATOR = "//---";
const LIMITS = "//limits ";
const EXPECTED = "//=> ";
const CONTINUED = "//   ";

/** Names of the golden files of a folder, in order. */
export function goldenFiles(folder: URL): string[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith(".js"))
    .sort();
}

export function readGolden(folder: URL, name: string): GoldenCell[] {
  return parseGolden(readFileSync(new URL(name, folder), "utf8"), name);
}

/**
 * Cells are parted by lines `//---`. A cell may begin with `//limits {…}` (its `limits_override`) and may end with
 * `//=> {…}`: JSON, a part of the envelope, continued on lines that begin with `//   `. Both are no part of the source.
 *
 * @throws where a file expects nothing at all, or an expectation stands before the end of its cell
 */
export function parseGolden(text: string, name: string): GoldenCell[] {
  const cells: GoldenCell[] = [];
  let lines: string[] = [];
  let first = 1;
  const all = text.trimEnd().split("\n");
  all.forEach((line, index) => {
    if (line !== SEPARATOR) lines.push(line);
    if (line !== SEPARATOR && index < all.length - 1) return;
    cells.push(cellOf(lines, first, name));
    lines = [];
    first = index + 2;
  });
  if (cells.every(({ expected }) => expected === undefined))
    throw new Error(`${name} expects nothing: add a //=> line`);
  return cells;
}

function cellOf(lines: readonly string[], line: number, name: string): GoldenCell {
  const limits = lines[0]?.startsWith(LIMITS) ? JSON.parse(lines[0].slice(LIMITS.length)) : {};
  const start = lines[0]?.startsWith(LIMITS) ? 1 : 0;
  const mark = lines.findIndex((text) => text.startsWith(EXPECTED));
  const source = lines.slice(start, mark < 0 ? undefined : mark).join("\n");
  if (mark < 0) return { source, line, limits, expected: undefined };
  const json = lines.slice(mark).map((text, index) => {
    const prefix = index === 0 ? EXPECTED : CONTINUED;
    if (!text.startsWith(prefix)) throw new Error(`${name}:${line + mark + index}: an expectation ends its cell`);
    return text.slice(prefix.length);
  });
  try {
    return { source, line, limits, expected: JSON.parse(json.join("\n")) };
  } catch (cause) {
    throw new Error(`${name}:${line + mark}: the expectation is no JSON`, { cause });
  }
}

/**
 * Where `got` is not what is expected, as one line each. Objects hold at least the expected keys; an object inside an
 * array, and the array, hold exactly these; a text `/…/` is a pattern.
 */
export function mismatches(expected: Json, got: unknown, path = "$", exact = false): string[] {
  if (typeof expected === "string" && /^\/.*\/$/s.test(expected)) {
    const fits = typeof got === "string" && new RegExp(expected.slice(1, -1), "s").test(got);
    return fits ? [] : [difference(path, expected, got)];
  }
  if (typeof expected !== "object" || expected === null) {
    return Object.is(expected, got) ? [] : [difference(path, expected, got)];
  }
  if (typeof got !== "object" || got === null || Array.isArray(got) !== Array.isArray(expected)) {
    return [difference(path, expected, got)];
  }
  const found = new Map<string, unknown>(Object.entries(got));
  const wanted = new Map<string, Json>(Object.entries(expected));
  const surplus = exact || Array.isArray(expected) ? [...found.keys()].filter((key) => !wanted.has(key)) : [];
  return [
    ...surplus.map((key) => `${path}.${key}: expected nothing, got ${JSON.stringify(found.get(key))}`),
    ...[...wanted].flatMap(([key, value]) =>
      found.has(key)
        ? mismatches(value, found.get(key), `${path}.${key}`, exact || Array.isArray(expected))
        : [difference(`${path}.${key}`, value, undefined)],
    ),
  ];
}

function difference(path: string, expected: Json, got: unknown): string {
  return `${path}: expected ${JSON.stringify(expected)}, got ${JSON.stringify(got) ?? "nothing"}`;
}

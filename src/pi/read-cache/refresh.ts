import type { ToolDefinition } from "@mariozechner/pi-coding-agent";
import { readTextFile } from "./file.ts";
import { REFRESH_ENTRY, type Refresh } from "./meta.ts";
import { isThere, readPath } from "./path.ts";
import { FULL, scopeOf } from "./scope.ts";
import { badRange, suffixOf } from "./texts.ts";

export const REFRESH_TOOL = "readcache_refresh";

export interface RefreshParts {
  exempt(): readonly string[];
  append(customType: string, data: Refresh): void;
  now(): number;
}

/** A file, or lines of it, that the next read is to show whole. */
export interface Wish {
  readonly path: string;
  readonly offset?: number | undefined;
  readonly limit?: number | undefined;
}

/** Keeps the wish on the branch, and answers what is to be said. A file that is not there may come to be. @throws Error */
export async function refresh(wish: Wish, cwd: string, { exempt, append, now }: RefreshParts): Promise<string> {
  const { path, offset, limit } = await withSuffix(wish, cwd);
  const pathKey = await readPath(path, cwd);
  const file = await readTextFile(pathKey, exempt());
  const total = file ? file.text.split("\n").length : Number.POSITIVE_INFINITY;
  const start = Math.max(1, offset ?? 1);
  const end = Math.max(start, Math.min(total, limit === undefined ? total : start + limit - 1));
  // Lines up to an unknown end are the whole file.
  const scopeKey = Number.isFinite(end) ? scopeOf({ start, end, total }) : FULL;
  append(REFRESH_ENTRY, { v: 1, kind: "invalidate", pathKey, scopeKey, at: now() });
  return `The next read of ${path}${scopeKey === FULL ? "" : `:${start}-${end}`} shows it whole.`;
}

async function withSuffix(wish: Wish, cwd: string): Promise<Wish> {
  const { path, offset, limit } = wish;
  if (path.trim() === "") throw new Error("No path was given: name the file that is to be read whole again");
  if (limit !== undefined && limit < 1) throw new Error(badRange(`of ${limit} lines`, path));
  if (offset !== undefined || limit !== undefined) return wish;
  const suffix = suffixOf(path);
  if (!suffix || (await isThere(path, cwd))) return wish;
  if (suffix.problem !== null) throw new Error(suffix.problem);
  return suffix;
}

/** The wish of `/readcache-refresh PATH [START-END]`. */
export function wishIn(line: string): Wish {
  const typed = line.trim();
  const [, path = typed, lines] = /^(.+?)\s+(\d{1,9}(?:-\d{1,9})?)$/s.exec(typed) ?? [];
  return { path: lines === undefined ? path : `${path}:${lines}` };
}

/** The tool with which a model asks for a text again. Its guideline is all that the cache says in the prompt. */
export function refreshTool(parts: RefreshParts): ToolDefinition {
  return {
    name: REFRESH_TOOL,
    label: "Read whole again",
    description: "Have the next read of a file, or of these lines, show it whole.",
    promptGuidelines: ["read may answer that a file is unchanged, or with a diff to your last read of it."],
    parameters: Parameters,
    // The next read of the same answer has to find the entry.
    executionMode: "sequential",
    async execute(_id, { path, offset, limit }, _signal, _update, { cwd }) {
      return { content: [{ type: "text", text: await refresh({ path, offset, limit }, cwd, parts) }], details: {} };
    },
  };
}

const Parameters = {
  type: "object",
  required: ["path"],
  properties: {
    path: { type: "string" },
    offset: { type: "integer", minimum: 1 },
    limit: { type: "integer", minimum: 1 },
  },
};

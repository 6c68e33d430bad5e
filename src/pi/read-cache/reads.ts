import type { ToolResultEvent } from "@mariozechner/pi-coding-agent";
import * as v from "valibot";
import { hasMeta, isThere, suffixOf } from "../../read-cache/index.ts";

/** A read that Pi has answered with a text. */
export interface AnsweredRead {
  readonly path: string;
  readonly offset: unknown;
  readonly limit: unknown;
  readonly text: string;
  readonly truncation: unknown;
}

/**
 * Returns null for what is not a plain text of the tool `read`: an error, an image, the answer of another cache, or a
 * nested call, whose program is to get the text.
 */
export function readIn(event: ToolResultEvent): AnsweredRead | null {
  const { toolName, isError, content, details } = event;
  if (toolName !== "read" || isError || hasMeta(details) || v.is(NestedSchema, event)) return null;
  const input = v.safeParse(InputSchema, event.input);
  const [block, ...others] = content;
  if (!input.success || block?.type !== "text" || others.length > 0) return null;
  const { path, offset, limit } = input.output;
  const cut = v.safeParse(CutSchema, details);
  return { path, offset, limit, text: block.text, truncation: cut.success ? cut.output.truncation : undefined };
}

const NestedSchema = v.object({ parentToolCallId: v.string() });
const InputSchema = v.object({ path: v.string(), offset: v.optional(v.unknown()), limit: v.optional(v.unknown()) });
const CutSchema = v.object({ truncation: v.optional(v.unknown()) });

/** Makes arguments of the lines that stand at the end of a path; answers what is wrong with them, or null. */
export async function withLines(input: Record<string, unknown>, cwd: string): Promise<string | null> {
  const { path, offset, limit } = input;
  if (typeof path !== "string" || offset !== undefined || limit !== undefined) return null;
  const suffix = suffixOf(path);
  if (!suffix || (await isThere(path, cwd)) || !(await isThere(suffix.path, cwd))) return null;
  if (suffix.problem !== null) return suffix.problem;
  Object.assign(input, { path: suffix.path, offset: suffix.offset, limit: suffix.limit });
  return null;
}

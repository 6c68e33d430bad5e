import { expect } from "vitest";
import type { Json } from "../../runtime/index.ts";
import { type ReadableRoots, readOnlyTools } from "../../src/models/agent-tools/index.ts";

type Given = { readonly [name: string]: Json };

/** Uses a read-only tool in a folder, or in several roots. */
async function use(name: string, readable: string | ReadableRoots, args: Given) {
  const options = typeof readable === "string" ? { roots: [readable], cwd: readable } : readable;
  const tool = readOnlyTools(options).find((each) => each.name === name);
  if (tool === undefined) throw new Error(`no tool ${name}`);
  return tool.run(args, new AbortController().signal);
}

/** What the tool answers. It must not be an error. */
export async function text(name: string, readable: string | ReadableRoots, args: Given): Promise<string> {
  const answer = await use(name, readable, args);
  expect(answer.isError, answer.text).toBeUndefined();
  return answer.text;
}

/** The message of the error that the tool answers with. */
export async function refusal(name: string, readable: string | ReadableRoots, args: Given): Promise<string> {
  const answer = await use(name, readable, args);
  expect(answer.isError, answer.text).toBe(true);
  return answer.text;
}

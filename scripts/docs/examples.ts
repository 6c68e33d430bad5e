import type { Described } from "../../builtins/index.ts";
import { type Json, openSession } from "../../src/index.ts";
import { loadSample } from "./sample.ts";

/** What the example of each builtin gives over the sample context, by the builtin's name. */
export type ExampleResults = ReadonlyMap<string, Json>;

/**
 * Runs the examples in their order, in one session over the sample context.
 *
 * @throws Error that names the builtin whose example fails
 */
export async function runExamples(described: readonly Described[]): Promise<ExampleResults> {
  await using session = await openSession();
  await loadSample(session);
  const results = new Map<string, Json>();
  for (const { name, example } of described) {
    const answer = await session.exec(example);
    if (!answer.success) throw new Error(`the example of ${name} fails: ${answer.traceback}`);
    results.set(name, answer.result_json);
  }
  return results;
}

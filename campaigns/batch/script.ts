import { createHash } from "node:crypto";

/** Sub-calls of a job, one after the other: each prompt holds the answer before it. */
export const STEPS = 5;

/** The cell of every job. */
export const SCRIPT = `let said = "nothing";
for (let step = 0; step < ${STEPS}; step++) said = await llm_query(job.id + " " + step + " after " + said, { tools: [] });
said`;

/** What the model answers. */
export const answerTo = (prompt: string) => createHash("sha256").update(prompt).digest("hex").slice(0, 12);

/** The prompts of a job, in their order. */
export function promptsOf(id: string): readonly string[] {
  const prompts: string[] = [];
  let said = "nothing";
  for (let step = 0; step < STEPS; step++) {
    prompts.push(`${id} ${step} after ${said}`);
    said = answerTo(prompts.at(-1) ?? "");
  }
  return prompts;
}

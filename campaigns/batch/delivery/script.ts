import type { Asked, ScriptedRow } from "../../../tests/support/batch-server/index.ts";
import { answerTo } from "../script.ts";

/** Kinds of jobs, by what they ask first. The second call of each waits for its first ones. */
const KINDS = ["plain", "many", "mixed", "schema"] as const;
type Kind = (typeof KINDS)[number];

export const idsOf = (jobs: number): readonly string[] =>
  Array.from({ length: jobs }, (_, n) => `${KINDS[n % KINDS.length]}-${n}`);

export const kindOf = (id: string): Kind => KINDS.find((kind) => id.startsWith(kind)) ?? "plain";

/** Requests by batch of a job of each kind. The first answer to the call with a schema is wrong, so it has a third request. */
export const ROWS: Readonly<Record<Kind, number>> = { plain: 2, many: 3, mixed: 2, schema: 3 };

/** The cell of every job. */
export const SCRIPT = `const [kind] = job.id.split("-");
const ask = (prompt, options) => llm_query(prompt, { tools: [], ...options });
const answers = kind === "many"
  ? (await llm_query_batch([job.id + " first a", job.id + " first b"], { tools: [] })).results
  : kind === "mixed"
    ? await Promise.all([ask(job.id + " first"), ask(job.id + " live", { delivery: "now" })])
    : [await ask(job.id + " first")];
const label = { type: "object", properties: { label: { type: "string" } }, required: ["label"] };
const second = await ask(job.id + " second after " + answers.join(" "), kind === "schema" ? { schema: label } : {});
[...answers, second]`;

const USAGE = { prompt: 10, completion: 5 };
const SECOND_OF_SCHEMA = /schema-\d+ second after [0-9a-f]+/;

/** The answer to a request. The repair of a call with a schema is another request of the same call. */
export function answeredTo({ prompt, body }: Pick<Asked, "prompt" | "body">): ScriptedRow {
  const [asked] = SECOND_OF_SCHEMA.exec(JSON.stringify(body)) ?? [];
  if (asked === undefined) return { text: answerTo(prompt), usage: USAGE };
  if (prompt.startsWith(asked)) return { text: "no label", usage: USAGE };
  return { text: JSON.stringify({ label: answerTo(asked) }), usage: USAGE };
}

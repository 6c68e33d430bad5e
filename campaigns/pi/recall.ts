import type { ScriptedAnswer } from "../../tests/support/model-server.ts";
import { envelopeOf } from "../../tests/support/pi/model.ts";
import { entriesIn, type Pi } from "../../tests/support/pi/process.ts";

/** How many facts each of the two ways to the conversation led to, in the message in which the file was read. */
export interface Recall {
  readonly search: number;
  readonly cell: number;
}

const SEARCH = "Find these:";
const CELL = "Find these in a cell:";
const AT_ONCE = 20;
const lineOf = (fact: string) => `the fact is ${fact}`;

/** Has the model look for each fact by rlm_search, then for all of them by `history.find` in one cell. */
export async function recall(pi: Pi, facts: readonly string[]): Promise<Recall> {
  for (let at = 0; at < facts.length; at += AT_ONCE) {
    await pi.prompt(`${SEARCH} ${facts.slice(at, at + AT_ONCE).join(" ")}`);
  }
  const searches = resultsIn(await pi.sessionFile()).slice(-facts.length);
  await pi.prompt(`${CELL} ${facts.join(" ")}`);
  const counted = envelopeOf(resultsIn(await pi.sessionFile()).at(-1));
  return {
    search: facts.filter((fact, n) => isShown(searches[n], fact)).length,
    cell: Number(counted.result_json ?? Number.NaN),
  };
}

/** What the scripted model does with a prompt of `recall`; nothing with others. */
export function recallCalls(prompt: string, id: string): ScriptedAnswer | undefined {
  const [form] = [CELL, SEARCH].filter((words) => prompt.startsWith(words));
  if (form === undefined) return undefined;
  const facts = prompt.slice(form.length).trim().split(" ");
  if (form === CELL) return { tools: [{ id, name: "rlm_exec", arguments: { code: countingCell(facts) } }] };
  return {
    tools: facts.map((fact, n) => ({ id: `${id}_${n}`, name: "rlm_search", arguments: { pattern: lineOf(fact) } })),
  };
}

/** Later messages repeat what was found; only the message that `read` answered counts. */
const countingCell = (facts: readonly string[]) => `const facts = ${JSON.stringify(facts)};
const isRead = (fact) => history.find("the fact is " + fact, "", { docs: true }).matches.some(({ id }) => id.endsWith("-read"));
facts.filter(isRead).length`;

/** Whether an answer of rlm_search has the fact below the line of a message that `read` answered. */
function isShown(answer: string | undefined, fact: string): boolean {
  const objects = (answer ?? "").split(/^(?=rlm-obj-)/m);
  return objects.some((object) => /^rlm-obj-\S+ history\/\d+-read\n/.test(object) && object.includes(lineOf(fact)));
}

function resultsIn(file: string): readonly string[] {
  return entriesIn(file).flatMap(({ message }) => (message?.role === "toolResult" ? [textOf(message.content)] : []));
}

function textOf(content: unknown): string {
  if (!Array.isArray(content)) return "";
  return content.map((block: { readonly text?: string }) => block.text ?? "").join("");
}

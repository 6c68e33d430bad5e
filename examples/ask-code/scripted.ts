import { scripted } from "../shared/scripted.ts";

const WRITERS = "Which exported functions of these files write to the database, directly or through each other?";

/** Gives the folder of billing to a model with cells of its own, then looks at the handlers with what that one found. */
export const scriptFor = (question: string) =>
  scripted({
    [question]: [
      'print(list_docs().map(({ id, size }) => id + " " + size).join("\\n"));\nprint(peek_doc("README.md"));',
      `
const schema = { type: "array", items: { type: "string" } };
const context = list_docs("src/billing/");
const writers = new Set(await rlm_query(${JSON.stringify(WRITERS)}, { context, schema, max_sub_calls: 0 }));
print(writers.size, [...writers].slice(0, 5));`,
      `
const handlers = find("export async function handle[^}]*\\\\}").matches;
const unguarded = handlers.filter(([start, end]) => {
  const code = peek(start, end);
  return !code.includes("requireRole(") && writers.has(code.match(/await (\\w+)\\(/)[1]);
});
const names = unguarded.map(([start, end]) => peek(start, end).match(/function (\\w+)/)[1]);
print(names);
answer(names, { cite: unguarded });`,
    ],
    [WRITERS]: [
      `
const functions = find("export async function [^}]*\\\\}").matches.map(([start, end]) => peek(start, end));
const bodies = new Map(functions.map((code) => [code.match(/function (\\w+)/)[1], code]));
print(bodies.size, functions[0]);`,
      `
const writes = new Set([...bodies].filter(([, code]) => code.includes("db.write(")).map(([name]) => name));
for (let before = -1; before < writes.size; ) {
  before = writes.size;
  for (const [name, code] of bodies) if ([...writes].some((one) => code.includes("await " + one + "("))) writes.add(name);
}
print(writes.size);
answer([...writes]);`,
    ],
  });

// A question about a code base: which handlers change something without a check of who calls?
//
//   node examples/ask-code/ask.ts [--model PROVIDER/ID]
import type { Example } from "../shared/example.ts";
import { main } from "../shared/play.ts";
import { codeBase } from "./data.ts";
import { scriptFor } from "./scripted.ts";

const question =
  "Which handlers in src/api reach a write to the database, directly or through functions of src/billing, and do not call requireRole? List their names, and cite them.";

export const example: Example<readonly string[]> = {
  question,
  schema: { type: "array", items: { type: "string" } },
  make(random) {
    const { files, unguarded } = codeBase(random);
    return { files, truth: unguarded };
  },
  script: scriptFor(question),
  check({ answer, citations }, unguarded) {
    const given = new Set(Array.isArray(answer) ? answer : []);
    const found = unguarded.filter((name) => given.has(name));
    const cited = unguarded.filter((name) => citations.some(({ quote }) => quote?.includes(`function ${name}(`)));
    return [
      {
        what: `of ${unguarded.length} such handlers ${found.length} are named`,
        isTrue: found.length === unguarded.length,
      },
      { what: `${given.size - found.length} others are named`, isTrue: given.size === found.length },
      { what: `${cited.length} of them are cited`, isTrue: cited.length === unguarded.length },
    ];
  },
};

if (import.meta.main) await main(example);

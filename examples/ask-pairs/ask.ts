// A relation between entries: which of 9,900 ordered pairs of people are a teacher and a learner in the same town?
//
//   node examples/ask-pairs/ask.ts [--model PROVIDER/ID]
import type { Example } from "../shared/example.ts";
import { main } from "../shared/play.ts";
import { register } from "./data.ts";
import { scriptFor } from "./scripted.ts";

const question =
  "Each line is a person with a town, what they could teach and what they would like to learn: bicycles, violin, baking, pottery or chess. List all pairs TEACHER-LEARNER of people in the same town where the first could teach what the second would like to learn, such as p003-p017.";

export const example: Example<readonly string[]> = {
  question,
  schema: { type: "array", items: { type: "string", pattern: "^p[0-9]{3}-p[0-9]{3}$" } },
  make(random) {
    const { text, pairs } = register(random);
    return { files: { "register.txt": text }, truth: pairs };
  },
  script: scriptFor(question),
  check({ answer }, pairs) {
    const given = new Set(Array.isArray(answer) ? answer : []);
    const found = pairs.filter((pair) => given.has(pair)).length;
    return [
      { what: `of ${pairs.length} pairs ${found} are named`, isTrue: found === pairs.length },
      { what: `${given.size - found} others are named`, isTrue: given.size === found },
    ];
  },
};

if (import.meta.main) await main(example);

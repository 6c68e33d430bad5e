import { scripted } from "../shared/scripted.ts";
import { SAYINGS, SKILLS } from "./data.ts";

/** Has each entry read once, some at a time, and compares the readings in code: 100 readings in place of 9,900 pairs. */
export const scriptFor = (question: string) =>
  scripted(
    {
      [question]: [
        "print(stats().lines, peek(0, 600));",
        `
const lines = P.split("\\n").filter((line) => /^p\\d/.test(line));
const parts = [];
for (let at = 0; at < lines.length; at += 20) parts.push(lines.slice(at, at + 20));
const skill = { enum: ${JSON.stringify(SKILLS)} };
const properties = { id: { type: "string" }, teaches: skill, learns: skill };
const schema = { type: "array", items: { type: "object", properties, required: Object.keys(properties) } };
const ask = "For each person: which skill could they teach, and which would they like to learn?\\n\\n";
const { results } = await llm_query_batch(parts.map((part) => ask + part.join("\\n")), { tools: [], schema });
const read = new Map(results.flat().map((one) => [one.id, one]));
print({ people: lines.length, read: read.size });`,
        `
const people = lines.map((line) => line.split(" | ")).map(([id, town]) => ({ town, ...read.get(id) }));
const learners = (a) => people.filter((b) => b.town === a.town && b.learns === a.teaches);
const pairs = people.flatMap((a) => learners(a).map((b) => a.id + "-" + b.id));
print(pairs.length, pairs.slice(0, 5));
answer(pairs);`,
      ],
    },
    (prompt) => JSON.stringify(readingsOf(prompt)),
  );

/** What a good model would answer: the script knows the sayings. */
function readingsOf(prompt: string) {
  return Array.from(prompt.matchAll(/^(p\d+) \| \w+ \| (.*); (.*)\.$/gm), ([, id, offer, wish]) => ({
    id,
    teaches: SKILLS.find((skill) => SAYINGS[skill].teaches === offer),
    learns: SKILLS.find((skill) => SAYINGS[skill].learns === wish),
  }));
}

import { scripted } from "../shared/scripted.ts";
import { COMPLAINTS } from "./data.ts";

/** Looks at P, has each line judged in batches, counts in code, and answers. */
export const scriptFor = (question: string) =>
  scripted(
    {
      [question]: [
        "print(stats().lines, peek(0, 500));",
        `
const lines = P.split("\\n").filter((line) => /^#\\d/.test(line));
const parts = [];
for (let at = 0; at < lines.length; at += 100) parts.push(lines.slice(at, at + 100));
const schema = { type: "array", items: { type: "string" } };
const ask = "A complaint says that something does not work or went wrong. List the numbers (#…) of the lines that are complaints.\\n\\n";
const { results } = await llm_query_batch(parts.map((part) => ask + part.join("\\n")), { tools: [], schema });
const failed = results.filter((one) => one.error).length;
const complaints = new Set(results.flat());
print({ parts: parts.length, failed, complaints: complaints.size });`,
        `
const counts = {};
for (const line of lines) {
  const [, number, user] = line.match(/^(#\\d+) user=(\\w+)/);
  if (complaints.has(number)) counts[user] = (counts[user] ?? 0) + 1;
}
const [[user, most]] = Object.entries(counts).sort(([, a], [, b]) => b - a);
print(counts);
answer({ user, complaints: most });`,
      ],
    },
    (prompt) => JSON.stringify(complaintsIn(prompt)),
  );

/** What a good model would answer: the script knows the sayings. */
function complaintsIn(prompt: string): string[] {
  const lines = [...prompt.matchAll(/^(#\d+) user=\w+ text=(.*)$/gm)];
  return lines.flatMap(([, number = "", text = ""]) => (COMPLAINTS.includes(text) ? [number] : []));
}

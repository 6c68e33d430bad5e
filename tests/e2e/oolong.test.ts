import { join } from "node:path";
import { expect, test } from "vitest";
import { ROOT } from "../../scripts/process.ts";
import { belayHere } from "../src/cli/in-process.ts";
import { startModelServer } from "../support/model-server.ts";
import { seededRandom } from "../support/seeded-random.ts";
import { folderWith } from "../support/tree.ts";

const LINES = 5000;

/** What a line says, by its kind; what tells the kinds apart is in the words alone. */
const SAYINGS = {
  question: ["where can I see the invoice", "does the export keep the colours", "is there a dark theme"],
  request: ["please send the contract again", "please add a second owner", "please close the old account"],
  complaint: ["the upload is broken since Monday", "my order is broken", "search is broken on the phone"],
  other: ["we met at the fair in spring", "the new office has a garden", "thanks, that was all"],
} as const;
type Kind = keyof typeof SAYINGS;
const KINDS = ["question", "request", "complaint", "other"] as const;

/** What a good model would answer for a line: the rule behind the corpus. */
function kindOf(line: string): Kind {
  if (/text=(where|does|is) /.test(line)) return "question";
  if (line.includes("please ")) return "request";
  return line.includes("broken") ? "complaint" : "other";
}

/** Lines whose kinds follow no simple order. */
function corpusOf(lines: number): { text: string; counts: Record<Kind, number> } {
  const counts = { question: 0, request: 0, complaint: 0, other: 0 };
  const random = seededRandom(1);
  const choose = <T>(items: readonly [T, ...T[]]): T => items[Math.floor(random() * items.length)] ?? items[0];
  const text = Array.from({ length: lines }, (_, index) => {
    const kind = choose(KINDS);
    counts[kind]++;
    const number = String(index + 1).padStart(4, "0");
    return `#${number} user=${choose(["ada", "ben", "cy", "dot"])} text=${choose(SAYINGS[kind])}\n`;
  }).join("");
  return { text, counts };
}

/** The label of each line of a prompt such as the example makes, as its schema wants them. */
function labelled(prompt: string): string {
  const labels = [...prompt.matchAll(/^(\d+): (#\d{4} user=.*)$/gm)].map(([, number, line = ""]) => ({
    line: Number(number),
    label: kindOf(line),
  }));
  return JSON.stringify({ labels });
}

test("a batch of sub-calls counts 5,000 labelled lines exactly, and the root model sees only the counts", async () => {
  const { text, counts } = corpusOf(LINES);
  const folder = folderWith({ "messages.txt": text });
  // Answers come out of order, as real ones do.
  await using server = await startModelServer(({ index, prompt }) => ({
    text: labelled(prompt),
    delayMs: (index * 7) % 23,
  }));
  const model = ["--model", "local/scripted", "--base-url", server.url, "--json", "--quiet"];
  const cell = ["examples/04-batch.js", "-c", join(folder, "messages.txt")];
  const { stdout } = await belayHere(["exec", ...cell, ...model], { cwd: ROOT });
  const envelope = JSON.parse(stdout);
  expect(envelope).toMatchObject({ success: true, warnings: [], stdout: "" });
  expect(envelope.result_json).toEqual({ counts, lines: LINES, unlabelled: 0 });
  expect(server.requests).toHaveLength(LINES / 125);
  expect(server.peak).toBeGreaterThan(1);
  expect(server.peak).toBeLessThanOrEqual(5);
  const seen = Buffer.byteLength(JSON.stringify(envelope.result_json) + envelope.stdout);
  console.log(`corpus ${Buffer.byteLength(text)} bytes; what the root model sees of it: ${seen} bytes`);
  expect(seen).toBeLessThan(200);
});

import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { example as code } from "../../examples/ask-code/ask.ts";
import { example as needle } from "../../examples/ask-needle/ask.ts";
import { example as oolong } from "../../examples/ask-oolong/ask.ts";
import { example as pairs } from "../../examples/ask-pairs/ask.ts";
import type { Example } from "../../examples/shared/example.ts";
import { play, reportOf } from "../../examples/shared/play.ts";
import { ROOT } from "../../scripts/process.ts";

const played = async <Truth>(example: Example<Truth>) => {
  const found = await play(example, {});
  return { ...found, report: [...reportOf(example.question, found)] };
};

const PLAYS: Readonly<Record<string, () => ReturnType<typeof played>>> = {
  "ask-code": () => played(code),
  "ask-needle": () => played(needle),
  "ask-oolong": () => played(oolong),
  "ask-pairs": () => played(pairs),
};

test("every example that asks is played here", () => {
  expect(globSync("ask-*", { cwd: join(ROOT, "examples") }).toSorted()).toEqual(Object.keys(PLAYS));
});

test.each([
  ["ask-code", { turns: 3, sub_calls: 1, children: 1, depth_reached: 1 }],
  ["ask-needle", { turns: 3, sub_calls: 0, children: 0 }],
  ["ask-oolong", { turns: 3, sub_calls: 20, children: 0 }],
  ["ask-pairs", { turns: 3, sub_calls: 5, children: 0 }],
])("the scripted model of %s finds what the generator knows, as its README shows", async (name, took) => {
  const found = await PLAYS[name]?.();
  expect(found?.envelope).toMatchObject({ success: true, answered_by: "answer", warnings: [], ...took });
  expect(found?.checks.filter(({ isTrue }) => !isTrue)).toEqual([]);
  expect(found?.checks.length).toBeGreaterThan(1);
  const lines = linesShown(name);
  expect(lines.length).toBeGreaterThan(4);
  expect(lines.filter((line) => !found?.report.some((printed) => printed.startsWith(line)))).toEqual([]);
});

/** The lines that a README shows of the program's output, each as far as its ellipsis. */
function linesShown(name: string): string[] {
  const text = readFileSync(join(ROOT, "examples", name, "README.md"), "utf8");
  const [, block = ""] = text.match(/```console\n\$ [^\n]*\n(.*?)```/s) ?? [];
  return block
    .trimEnd()
    .split("\n")
    .map((line) => line.replace(/….*/, ""));
}

test("an answer that is not what the generator knows is told as such", () => {
  const { truth } = needle.make(() => 0.5);
  const wrong = needle.check({ answer: "00000", citations: [] }, truth);
  expect(wrong.map(({ isTrue }) => isTrue)).toEqual([false, false]);
});

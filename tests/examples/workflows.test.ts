import { globSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { expect, test } from "vitest";
import type { Json } from "../../runtime/index.ts";
import { ROOT } from "../../scripts/process.ts";
import { runWorkflow } from "../../src/index.ts";
import { readWorkflow } from "../../src/workflow/index.ts";

const read = (name: string) => readFileSync(join(ROOT, "examples/workflows", name), "utf8");

/** Runs an example; its model answers a prompt by the first pattern that fits. */
async function play(name: string, args: Json, answers: readonly (readonly [pattern: RegExp, answer: Json])[]) {
  const prompts: string[] = [];
  const envelope = await runWorkflow(read(name), {
    model: "test/scripted",
    price: "1/1",
    args,
    complete: async ({ messages }) => {
      const last = messages.at(-1);
      const prompt = last && "text" in last ? last.text : "";
      prompts.push(prompt);
      const answer = answers.find(([pattern]) => pattern.test(prompt))?.[1] ?? null;
      return typeof answer === "string" ? answer : JSON.stringify(answer);
    },
  });
  return { ...envelope, prompts };
}

test("the audit keeps faults that are not refuted, the gravest first", async () => {
  const faults = [
    { line: 3, what: "off by one", severity: "low" },
    { line: 9, what: "no check", severity: "high" },
  ];
  const { result_json, stderr } = await play("audit.js", { files: ["a.ts", "b.ts"] }, [
    [/^Read a\.ts/, { faults }],
    [/^Read b\.ts/, { faults: [{ line: 1, what: "not one", severity: "high" }] }],
    [/not one/, { isReal: false, why: "it is none" }],
    [/^Try to refute/, { isReal: true, why: "seen" }],
  ]);
  expect(result_json).toEqual({
    confirmed: [
      { file: "a.ts", line: 9, what: "no check", severity: "high", why: "seen" },
      { file: "a.ts", line: 3, what: "off by one", severity: "low", why: "seen" },
    ],
    unread: [],
  });
  expect(stderr).toContain("2 faults are confirmed\n");
});

test("the migration tells what became of each file once", async () => {
  const { result_json, stderr } = await play("migration.js", { task: "to promises", glob: "*.js" }, [
    [/^List the files/, { files: ["a.js", "b.js", "a.js", "c.js"] }],
    [/^Migrate c\.js/, { changed: false, summary: "nothing" }],
    [/^Migrate/, { changed: true, summary: "done" }],
    [/^Review this change of b\.js/, { approved: false, problems: ["a test is red"] }],
    [/^Review/, { approved: true, problems: [] }],
  ]);
  expect(result_json).toEqual([
    { file: "a.js", status: "approved", problems: [] },
    { file: "b.js", status: "rejected", problems: ["a test is red"] },
    { file: "c.js", status: "nothing to do" },
  ]);
  expect(stderr).toContain("1 approved, 1 rejected, 1 without a change\n");
});

test("the panel keeps remarks that most voters hold to be true", async () => {
  const { result_json, prompts } = await play("review-panel.js", { diff: "change.diff" }, [
    [
      /Which inputs/,
      {
        remarks: [
          { place: "a.ts:1", text: "wrong" },
          { place: "a.ts:1", text: "wrong again" },
        ],
      },
    ],
    [/^Read the change/, { remarks: [] }],
    [/^Voter 1/, { holds: false }],
    [/^Voter/, { holds: true }],
    [/^Decide/, "Do not merge."],
  ]);
  expect(result_json).toEqual({
    decision: "Do not merge.",
    held: [{ place: "a.ts:1", text: "wrong", view: "correctness", votes: 2 }],
  });
  expect(prompts).toHaveLength(4 + 3 + 1);
});

test("research writes from supported claims alone", async () => {
  const claim = (text: string) => ({ text, source: "a.md", quote: text });
  const { result_json } = await play("research.js", { question: "Why?", sources: ["a.md"] }, [
    [/^Split/, { questions: ["When?", "Who?"] }],
    [/^What .*When\?/, { claims: [claim("in May"), claim("never")] }],
    [/^What .*Who\?/, { claims: [] }],
    [/never/, { verdict: "contradicted" }],
    [/^Open/, { verdict: "supported" }],
    [/^Answer/, "In May (a.md)."],
  ]);
  expect(result_json).toEqual({ answer: "In May (a.md).", claims: [claim("in May")] });
});

test("the search ends after two rounds without anything new", async () => {
  const { result_json, stderr } = await play("fault-search.ts", { target: "src", angles: ["edges"] }, [
    [/^Round 1/, { faults: [{ file: "a.ts", what: "one" }] }],
    [
      /^Round 2/,
      {
        faults: [
          { file: "a.ts", what: "One" },
          { file: "b.ts", what: "two" },
        ],
      },
    ],
    [/^Round/, { faults: [] }],
    [/a\.ts: one/, { proven: true, test: "t1" }],
    [/^Write/, { proven: false, test: "" }],
  ]);
  expect(result_json).toEqual({ proven: [{ file: "a.ts", what: "one", test: "t1" }], searched: 1, unproven: 1 });
  expect(stderr).toMatch(/round 4: 0 new, 2 in all\n— Prove\n$/);
});

test("each example says how to run it, and is named as its file is", () => {
  const files = globSync("examples/workflows/*", { cwd: ROOT }).map((path) => basename(path));
  expect(files).toHaveLength(5);
  for (const name of files) {
    const source = read(name);
    expect(source).toContain(`//   belay workflow examples/workflows/${name} --args `);
    expect(readWorkflow(source, name).meta.name).toBe(name.replace(/\.\w+$/, ""));
  }
});

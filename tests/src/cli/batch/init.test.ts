import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { wordsOf } from "../../../support/words.ts";
import { json, said } from "../belay.ts";
import { scene } from "./scene.ts";

const ANSWER = { text: '{"label":"praise","why":"good"}' };

/** The words of the line that `--init` prints. */
const nextLine = (stdout: string) => wordsOf(/^then type: belay (.*)$/m.exec(stdout)?.[1] ?? "");

test("--init writes a script that runs as it is, and prints the line that tries it", async () => {
  const table = `id,text,"Order ID","it\`s \${odd}\n// second"\nr1,good,7,x\nr2,fine,8,y\n`;
  const { type, folder, server } = await scene({ "my reviews.csv": table }, () => ANSWER);
  const written = await type(["batch", "--init", "my reviews.csv"]);
  expect(written).toMatchObject({
    code: 0,
    stdout: `wrote my reviews.js for 2 inputs of my reviews.csv: change its question and its schema\nthen type: belay batch 'my reviews.js' --jobs 'my reviews.csv' --dry-run\n`,
  });
  const script = readFileSync(join(folder, "my reviews.js"), "utf8");
  expect(script).toContain(`//   job.text\n//   job["Order ID"]\n//   job["it\`s \${odd}\\n// second"]\n`);
  expect(script).toMatch(/\nconst schema = \{[\s\S]*\n\/\/ What it costs: one call for each input, here 2 calls\./);
  expect(existsSync(join(folder, "home"))).toBe(false);

  const dry = await type(nextLine(written.stdout));
  expect(dry.stderr).toBe("");
  expect(dry).toMatchObject({ code: 0, stdout: expect.stringContaining("\n2 jobs, by the first 2: ~2 sub-calls") });
  const [, first = ""] = /\n\/\/ {3}(belay .* --first 5)\n/.exec(script) ?? [];
  expect(await type(wordsOf(first).slice(1))).toMatchObject({ code: 0 });
  const prompts = server.requests.map(({ prompt }) => prompt);
  expect(prompts).toContainEqual(expect.stringContaining(`\ntext: good\nOrder ID: 7\nit\`s \${odd}`));
  expect(readFileSync(join(folder, "my reviews-results.csv"), "utf8")).toContain(",praise,good,");
  expect(await type(["batch", "--init", "my reviews.csv"])).toMatchObject(said(2, "my reviews.js already exists"));
});

test("--init reads lines of JSON and folders, keeps the flags of the line, and can be told the script's name", async () => {
  const { type, folder, server, lines } = await scene(
    {
      "in.jsonl": '"plain"\n[1]\n',
      "deep.jsonl": '{"key":"a","tags":["x"]}\n{"key":"b","more":1}\n',
      "texts/a.txt": "hello",
    },
    () => ANSWER,
  );
  const plain = json(await type(["batch", "plain.js", "--init", "--jobs", "in.jsonl", "--json"]));
  expect(plain).toEqual({
    success: true,
    script: "plain.js",
    jobs: "in.jsonl",
    count: 2,
    fields: null,
    next: "belay batch plain.js --jobs in.jsonl --dry-run",
  });
  await type(["batch", "plain.js", "--jobs", "in.jsonl", "-o", "out.jsonl"]);
  expect(server.requests.map(({ prompt }) => /\n\n(.*)\n\n/.exec(prompt)?.[1]).toSorted()).toEqual(["[1]", "plain"]);

  const { stdout } = await type(["batch", "--init", "--jobs", "deep.jsonl", "--id", "key"]);
  expect(stdout).toContain("then type: belay batch deep.js --jobs deep.jsonl --id key --dry-run\n");
  const again = await type(["batch", "--init", "--jobs", "deep.jsonl", "--id", "key"]);
  expect(again.stderr).toContain("try: belay batch deep-2.js --init --jobs deep.jsonl --id key\n");
  expect(readFileSync(join(folder, "deep.js"), "utf8")).toContain(`\ntags: \${JSON.stringify(job.tags ?? null)}\n`);
  await type(["batch", "deep.js", "--jobs", "deep.jsonl", "--id", "key", "-o", "out.jsonl"]);
  expect(lines("out.jsonl")).toMatchObject([
    { job: "a", status: "done" },
    { job: "b", status: "done" },
  ]);

  await type(["batch", "--init", "texts"]);
  await type(["batch", "texts.js", "--jobs", "texts", "-o", "out.jsonl"]);
  expect(lines("out.jsonl")).toMatchObject([{ result: { label: "praise", why: "good", isCut: false } }]);
  expect(server.requests.at(-1)?.prompt).toContain("\npath: texts/a.txt\n\nhello\n");
});

test.each([
  [["--init"], 2, "--init writes a script for inputs: name them with --jobs"],
  [["label.js", "--init"], 2, "--init writes a script for inputs: name them with --jobs"],
  [["--init", "--jobs", "-"], 2, "--init cannot read stdin"],
  [["--init", "none.csv"], 2, "--jobs none.csv: no such file"],
  [["--init", "bad.jsonl"], 2, "line 2 of bad.jsonl is not valid JSON"],
  [["--init", "bad.jsonl", "--dry-run"], 2, "--init and --dry-run exclude each other"],
  [["none/x.js", "--init", "--jobs", "ok.jsonl"], 1, "none/x.js"],
])("belay batch %j writes nothing", async (args, code, words) => {
  const { type, folder } = await scene({ "bad.jsonl": "1\n{\n", "ok.jsonl": "1\n" });
  expect(await type(["batch", ...args])).toMatchObject(said(code, words));
  expect(["label.js", "bad.js", "none.js", "ok.js"].filter((name) => existsSync(join(folder, name)))).toEqual([]);
});

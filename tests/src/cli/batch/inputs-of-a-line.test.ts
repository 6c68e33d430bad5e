import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { said } from "../belay.ts";
import { scene } from "./scene.ts";

test("results are those of the inputs of the line, in their order, and other jobs of the run are counted", async () => {
  const { type, lines } = await scene({
    "oct.csv": "id,text\no1,one\no2,two\n",
    "nov.csv": "id,text\nn1,three\n",
    "both.csv": "id,text\nn1,three\no2,two\nn2,four\n",
  });
  const line = (month: string) => ["batch", "once.js", "--jobs", `${month}.csv`, "-o", `${month}.jsonl`];
  expect((await type(line("oct"))).stderr).not.toContain("of the run");
  const { code, stderr } = await type(line("nov"));
  expect(lines("nov.jsonl").map(({ job }) => job)).toEqual(["n1"]);
  expect({ code, stderr }).toEqual({
    code: 0,
    stderr: expect.stringMatching(
      /: 1 job\n[\s\S]*: 3\/3 done\n2 jobs of the run are not in nov.csv and not in nov.jsonl\n1 result is in nov.jsonl; /,
    ),
  });
  for (const more of [[], ["--unordered"]]) {
    expect(await type([...line("both"), ...more])).toMatchObject({
      stderr: expect.stringContaining("\n1 job of the run is not in both.csv and not in both.jsonl\n3 results are in "),
    });
    expect(lines("both.jsonl").map(({ job, n }) => [job, n])).toEqual([
      ["n1", 2],
      ["o2", 1],
      ["n2", 3],
    ]);
  }
  const json = await type(["batch", "once.js", "--jobs", "nov.csv", "--json"]);
  expect(JSON.parse(json.stdout)).toMatchObject({ inputs: 1, jobs: { all: 4 } });
});

test("a changed input is named and nothing is written, until --retry-changed runs it again", async () => {
  const { folder, type, lines, server } = await scene({ "in.csv": "id,text\nn1,one\nn2,two\n" });
  const line = (...more: string[]) => ["batch", "ask.js", "--jobs", "in.csv", "-o", "out.jsonl", ...more];
  await type(line());
  const before = lines("out.jsonl");
  writeFileSync(join(folder, "in.csv"), "text,id\nuno,n1\ntwo,n2\nthree,n3\n");
  for (const more of [[], ["--retry-failed"]]) {
    const { code, stderr } = await type(line(...more));
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringMatching(
        /^error: --jobs in.csv: 1 input changed since: n1; nothing was written \(run_differs\)\n.*in.csv -o out.jsonl .*--retry-changed`/s,
      ),
    });
  }
  expect(lines("out.jsonl")).toEqual(before);
  expect(server.requests).toHaveLength(2);
  expect((await type(["jobs"])).stdout).toMatch(/ over +2\/2 /);
  const again = await type(line("--retry-changed"));
  expect(again).toMatchObject(said(0, "\n1 job will be tried again\n"));
  expect(lines("out.jsonl").map(({ job, result }) => [job, result])).toEqual([
    ["n1", "label of uno"],
    ["n2", "label of two"],
    ["n3", "label of three"],
  ]);
  expect(server.requests).toHaveLength(4);
  expect(await type(line())).toMatchObject({ code: 0 });
});

test("--retry-failed tries a failed row with what it says now", async () => {
  const { folder, type, lines } = await scene({ "in.csv": "id,text\na,one\nb,bad\n" });
  const line = ["batch", "ask.js", "--jobs", "in.csv", "-o", "out.jsonl"];
  expect(await type(line)).toMatchObject({ code: 1 });
  writeFileSync(join(folder, "in.csv"), "id,text\na,one\nb,good\n");
  expect(await type([...line, "--retry-failed"])).toMatchObject(said(0, "\n1 job will be tried again\n"));
  expect(lines("out.jsonl").map(({ result }) => result)).toEqual(["label of one", "label of good"]);
});

test("a file that has changed is a changed context of its job", async () => {
  const { folder, type } = await scene({ "in/a.txt": "apple", "in/b.txt": "pear", "read.js": "P" });
  const line = ["batch", "read.js", "--jobs", "in", "-o", "-", "--quiet"];
  await type(line);
  writeFileSync(join(folder, "in/b.txt"), "plum");
  expect(await type(line)).toMatchObject({
    code: 1,
    stdout: "",
    stderr: expect.stringContaining("--jobs in: 1 input or its context changed since: in/b.txt; nothing was written"),
  });
  const { stdout } = await type([...line, "--retry-changed"]);
  expect(stdout).toMatch(/"result":"apple".*\n.*"result":"plum"/);
});

test("of many changed inputs five are named", async () => {
  const rows = (text: string) => `id,text\n${[1, 2, 3, 4, 5, 6, 7].map((n) => `n${n},${text}\n`).join("")}`;
  const { folder, type } = await scene({ "in.csv": rows("one") });
  const line = ["batch", "once.js", "--jobs", "in.csv"];
  await type(line);
  writeFileSync(join(folder, "in.csv"), rows("two"));
  expect(await type(line)).toMatchObject(said(1, "7 inputs changed since: n1, n2, n3, n4, n5 and 2 more; nothing was"));
});

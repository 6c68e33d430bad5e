import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { scene } from "./scene.ts";

const LINES = [
  '{"id": 1234567890123456788, "n": 1.50, "user": {"ids": [1, 18446744073709551615]}}',
  '{"id": 1234567890123456789, "n": 1e3, "pi": 3.14159265358979323846}',
];

test("numbers that JavaScript would round come out as they went in, and cells get their digits", async () => {
  const { folder, type, lines } = await scene({
    "in.jsonl": LINES.join("\n"),
    "next.js": "({ next: String(BigInt(job.id) + 1n), half: job.n / 2 })",
  });
  const line = ["batch", "next.js", "--jobs", "in.jsonl", "--name", "mine", "-o", "out.csv"];
  const typed = await type(line);
  expect(typed).toMatchObject({ code: 0 });
  expect(typed.stderr).toContain("warning: id, user.ids, pi: JavaScript would round the number");
  const table = [
    "job,status,id,n,user,pi,next,half,error,cost_usd,warnings",
    '1234567890123456788,done,1234567890123456788,1.50,"{""ids"":[1,18446744073709551615]}",,1234567890123456789,0.75,,0,number_as_text: id; number_as_text: user.ids',
    "1234567890123456789,done,1234567890123456789,1e3,,3.14159265358979323846,1234567890123456790,500,,0,number_as_text: id; number_as_text: pi\n",
  ].join("\n");
  expect(readFileSync(join(folder, "out.csv"), "utf8")).toBe(table);
  await type(["jobs", "out", "mine", "-o", "out.jsonl"]);
  const warnings = [
    ["number_as_text: id", "number_as_text: user.ids"],
    ["number_as_text: id", "number_as_text: pi"],
  ];
  expect(lines("out.jsonl")).toMatchObject(warnings.map((warnings) => ({ warnings })));
  const { stdout: shown } = await type(["jobs", "mine", "1234567890123456789"]);
  expect(shown).toContain('{ "id": 1234567890123456789, "n": 1e3, "pi": 3.14159265358979323846 }');
  expect(shown).toContain("warning: id: JavaScript would round the number, so it is a text of its digits\n");
  const { stdout: json } = await type(["jobs", "mine", "1234567890123456788", "--json"]);
  expect(json).toContain('"input":{"id":1234567890123456788,"n":1.50,"user":{"ids":[1,18446744073709551615]}}');
});

test("the same number written otherwise is no change, and another one that JavaScript would round to it is", async () => {
  const { folder, type } = await scene({ "in.jsonl": '{"id":"a","n":1.50,"big":1234567890123456788}' });
  const line = ["batch", "once.js", "--jobs", "in.jsonl", "--name", "mine"];
  expect(await type(line)).toMatchObject({ code: 0 });
  writeFileSync(join(folder, "in.jsonl"), '{"n":15e-1,"id":"a","big":1234567890123456788}');
  expect(await type(line)).toMatchObject({ code: 0, stderr: expect.stringContaining("all known") });
  writeFileSync(join(folder, "in.jsonl"), '{"id":"a","n":1.5,"big":1234567890123456789}');
  expect(await type(line)).toMatchObject({ code: 1, stderr: expect.stringContaining("1 input changed since: a") });
});

test("a path of --context-field may be a number, as it is written", async () => {
  const { folder, type, lines } = await scene({ "in.jsonl": '{"id":"a","file":1234567890123456789}', "p.js": "P" });
  mkdirSync(join(folder, "1234567890123456789"));
  writeFileSync(join(folder, "1234567890123456789", "a.txt"), "this one");
  const line = ["batch", "p.js", "--jobs", "in.jsonl", "--context-field", "file", "-o", "out.jsonl"];
  expect(await type(line)).toMatchObject({ code: 0 });
  expect(lines("out.jsonl")).toMatchObject([{ result: expect.stringContaining("this one") }]);
});

test("a dry run shows the input as it was written", async () => {
  const { type } = await scene({ "in.jsonl": LINES.join("\n") });
  const { code, stdout, stderr } = await type(["batch", "once.js", "--jobs", "in.jsonl", "--dry-run"]);
  expect({ code, stderr }).toMatchObject({ code: 0, stderr: expect.stringContaining("id, user.ids, pi: ") });
  expect(stdout).toContain('`job` is {"id":1234567890123456788,"n":1.50');
});

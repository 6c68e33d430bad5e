import { expect, test } from "vitest";
import { json, said } from "../belay.ts";
import { scene } from "./scene.ts";

test("jobs that lack a part of what was asked for end a batch with 3, as a cell does", async () => {
  const cell = 'job.text === "long" ? "x".repeat(2_000_000) : job.text';
  const { type } = await scene({ "in.csv": "id,text\na,long\nb,short\n", "part.js": cell });
  const line = ["batch", "part.js", "--jobs", "in.csv", "--name", "part"];
  const lack = /^1 job lacks a part of what was asked for, such as a: the result has 1.9 MB.*; --max-result-bytes N/m;
  expect(await type([...line, "-o", "out.csv", "--quiet"])).toMatchObject({
    code: 3,
    stderr: expect.stringMatching(lack),
  });
  const again = await type([...line, "--json"]);
  expect([again.code, json(again)]).toEqual([
    3,
    expect.objectContaining({ success: false, state: "over", exit_code: 3, loss: expect.stringMatching(lack) }),
  ]);
  expect(await type(["jobs", "part", "--watch"])).toMatchObject({ code: 3, stderr: expect.stringMatching(lack) });
  expect(await type(["jobs", "out", "part"])).toMatchObject({ code: 3, stderr: expect.stringMatching(lack) });
  expect((await type(["jobs", "part", "a"])).code).toBe(3);
  expect((await type(["jobs", "part", "b"])).code).toBe(0);
  expect((await type(["jobs", "part"])).stdout).toMatch(/^a +done .* MB/m);
});

test("files that a folder leaves out change no exit code, as in a cell", async () => {
  const { type } = await scene({ "in/a.txt": "one", "in/b.pdf": "%PDF-1.4 torn" });
  const left = (code: number) => said(code, "b.pdf");
  expect(await type(["exec", "-c", "in", "-e", "P.length"])).toMatchObject(left(0));
  expect(await type(["batch", "once.js", "--jobs", "in"])).toMatchObject(left(0));
});

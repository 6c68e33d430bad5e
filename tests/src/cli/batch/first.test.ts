import { expect, test } from "vitest";
import { said } from "../belay.ts";
import { DEAR, priced, scene } from "./scene.ts";

const ROWS = Array.from({ length: 20 }, (_, n) => `{"text":"t${n}"}\n`).join("");

test("--first runs the first inputs, keeps them, and tells what all of them will cost", async () => {
  const { type, lines, server } = await scene({ "in.jsonl": ROWS }, () => DEAR);
  const model = [...priced(server), "--model", "mine/m"];
  const line = (...more: string[]) => ["batch", "ask.js", "--jobs", "in.jsonl", "-o", "out.jsonl", ...model, ...more];
  const { code, stderr } = await type(line("--first", "5"));
  expect(code).toBe(0);
  // A request took $0.006, and could have taken $0.0205.
  expect(stderr).toMatch(
    /: 5 jobs\n[\s\S]*: 5\/5 done · \$0.030\n5 results are in out.jsonl; .*\nlikely \$0.120 for 20 \(from 5\), at most \$0.4\d\d\nrun them all: belay batch ask.js .*in.jsonl -o out.jsonl --base-url '' --model mine\/m\n$/,
  );
  expect(lines("out.jsonl")).toHaveLength(5);
  const bounded = await type(line("--first=5", "--run-max-cost-usd", "0.3", "--json"));
  expect(JSON.parse(bounded.stdout)).toMatchObject({
    inputs: 5,
    forecast: { jobs: 20, from: 5, likely: { cost_usd: expect.closeTo(0.12) }, at_most: { cost_usd: 0.3 } },
  });
  expect(server.requests).toHaveLength(5);
  expect(await type(line())).toMatchObject(said(0, ": 20 jobs, 15 of them new\n"));
  expect(server.requests).toHaveLength(20);
  expect((await type(line("--first", "5"))).stderr).toContain(
    "\n15 jobs of the run are not among the first 5 of in.jsonl",
  );
});

test("without a price --first counts tokens, and of a run that is not over it runs no part", async () => {
  const { type, server } = await scene({ "in.jsonl": ROWS });
  const line = ["batch", "ask.js", "--jobs", "in.jsonl", "--name", "mine", "--concurrency", "1"];
  expect((await type([...line, "--first", "2"])).stderr).toMatch(
    /\nlikely \S+ tokens for 20 \(from 2\), at most \S+ tokens\n/,
  );
  await type([...line, "--run-max-sub-calls", "3"]);
  expect(server.requests).toHaveLength(3);
  const { code, stderr } = await type([...line, "--first", "5"]);
  expect({ code, stderr }).toEqual({
    code: 1,
    stderr: expect.stringMatching(
      /^error: --first 5: the run mine has 15 further jobs that are not over \(run_differs\)\nsuggestion: Run them all: `belay batch .* --concurrency 1`. --new/,
    ),
  });
  expect(server.requests).toHaveLength(3);
});

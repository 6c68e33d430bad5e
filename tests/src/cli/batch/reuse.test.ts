import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { type ModelScript, startModelServer } from "../../../support/model-server.ts";
import { json, said } from "../belay.ts";
import { DEAR, priced, scene } from "./scene.ts";

const rows = (...texts: readonly string[]) =>
  texts.map((text, n) => `${JSON.stringify({ id: `r${n}`, text })}\n`).join("");
const script = (first: string) => `// ${first}\nawait llm_query(job.text, { tools: [] })`;
const counting = (): ModelScript => {
  let asked = 0;
  return () => ({ text: `answer ${++asked}` });
};

/** A run of `s.js` over `in.jsonl`, and the way to change a file. */
async function scripted(texts: readonly string[], model = counting(), tree = {}) {
  const open = await scene({ "s.js": script("one"), "in.jsonl": rows(...texts), ...tree }, model);
  const line = ["batch", "s.js", "--jobs", "in.jsonl", "-o", "out.jsonl", "--concurrency", "1"];
  return {
    ...open,
    batch: (...more: string[]) => open.type([...line, ...more]),
    write: (file: string, text: string) => writeFileSync(join(open.folder, file), text),
    results: () => open.lines("out.jsonl").map(({ result }) => result),
  };
}

test("an edited script takes the answers that an earlier run of the same file has, each once", async () => {
  const { batch, write, results, server, type } = await scripted(["a", "b", "a"]);
  await batch();
  expect(results()).toEqual(["answer 1", "answer 2", "answer 3"]);
  write("s.js", script("two"));
  write("in.jsonl", `${rows("a", "b", "a")}{"id":"r9","text":"a"}\n{"id":"r10","text":"c"}\n`);
  const second = await batch();
  expect(second).toMatchObject(said(0, "3 of 5 answers reused from s-"));
  expect(second.stderr).toMatch(/; --fresh asks again\n/);
  // Equal rows keep their answers, and the fourth equal call has none to take.
  expect(results()).toEqual(["answer 1", "answer 2", "answer 3", "answer 4", "answer 5"]);
  expect(server.requests.map(({ prompt }) => prompt)).toEqual(["a", "b", "a", "a", "c"]);
  const [run] = /s-\w{8}/.exec(second.stderr) ?? [];
  const shown = await type(["jobs", run ?? ""]);
  expect(shown.stdout).toMatch(/ \(over\): 5\/5 done · .*\n3 of 5 answers reused from s-\w{8}; --fresh asks again\n/);
  expect(json(await type(["jobs", run ?? "", "--json"]))).toMatchObject({
    run: { reused: { answers: 3, from: [expect.stringMatching(/^s-/)], saved: { tokens: expect.any(Number) } } },
    jobs: expect.arrayContaining([expect.objectContaining({ job: "r0", reused: 1, sub_calls: 0 })]),
  });
  expect((await type(["jobs", run ?? "", "r0"])).stdout).toContain(
    "took 0 sub-calls, 0 tokens, 1 answer of an earlier run",
  );
  expect((await type(["show", `${run}/r0`])).stdout).toMatch(/reused\s+local\/m .*\(from s-\w{8}\) a\n/);
});

test("a row that moved, was renumbered or stands in another table of the same script is known by its question", async () => {
  const { batch, write, results, server, type, lines } = await scripted(["a", "b"]);
  await batch();
  write("s.js", script("two"));
  write("in.jsonl", rows("new", "a", "b"));
  await batch();
  expect(results()).toEqual(["answer 3", "answer 1", "answer 2"]);
  write("other.jsonl", '{"id":"x","text":"b"}\n');
  write("s.js", script("three"));
  await type(["batch", "s.js", "--jobs", "other.jsonl", "-o", "other-out.jsonl"]);
  expect(lines("other-out.jsonl")).toMatchObject([{ result: "answer 2", reused: 1, sub_calls: 0 }]);
  write("t.js", script("another script of the same table"));
  await type(["batch", "t.js", "--jobs", "other.jsonl", "-o", "other-out.jsonl"]);
  expect(lines("other-out.jsonl")).toMatchObject([{ result: "answer 2" }]);
  expect(server.requests).toHaveLength(3);
});

test("another prompt, model, parameter, schema or list of tools is asked for", async () => {
  const { batch, write, server } = await scripted(["a"]);
  const asks = (call: string) => write("s.js", `await ${call}`);
  const calls = [
    "llm_query(job.text + '!', { tools: [] })",
    "llm_query(job.text, { tools: [], max_tokens: 77 })",
    "llm_query(job.text, { tools: [], system: 'short' })",
    "llm_query(job.text, { tools: [], schema: { type: 'string' }, or_text: true })",
    "llm_query(job.text, { tools: ['read_file'] })",
    "llm_query(job.text)",
  ];
  await batch();
  let requests = server.requests.length;
  for (const call of calls) {
    asks(call);
    await batch();
    expect([call, server.requests.length > requests]).toEqual([call, true]);
    requests = server.requests.length;
  }
  asks("llm_query(job.text) // again");
  expect(await batch()).toMatchObject(said(0, "1 of 1 answer reused from"));
  expect(await batch("--model", "local/other")).toMatchObject({ stderr: expect.not.stringContaining("reused") });
  expect(server.requests).toHaveLength(requests + 1);
});

test("a server of another --base-url is asked, though its model has the same name", async () => {
  const { batch, write, results } = await scripted(["a"]);
  const other = await startModelServer(() => ({ text: "of the other server" }));
  onTestFinished(() => other.close());
  await batch();
  write("s.js", script("two"));
  expect((await batch("--base-url", other.url)).stderr).not.toContain("reused");
  expect(results()).toEqual(["of the other server"]);
});

test("an answer that was put right says so in each run that takes it", async () => {
  const { batch, write, lines, server } = await scripted(["a"], () => ({ text: '{"n": 1,}' }));
  const asking = (comment: string) =>
    `await llm_query(job.text, { tools: [], schema: { type: "object", properties: { n: { type: "integer" } } } }) // ${comment}`;
  for (const comment of ["one", "two", "three"]) {
    write("s.js", asking(comment));
    await batch();
    expect(lines("out.jsonl")).toMatchObject([{ result: { n: 1 }, warnings: ["replies_mended: 1 (punctuation)"] }]);
  }
  expect(server.requests).toHaveLength(1);
});

test("what failed, and what a model found with a tool, is asked for again", async () => {
  const read = { tools: [{ id: "u", name: "list_dir", arguments: { path: "." } }] };
  const answers = [
    { text: "cut", finish: "length" },
    read,
    { text: "found" },
    { text: "whole" },
    read,
    { text: "found 2" },
  ];
  const { batch, write, server, results } = await scripted(["a"], () => answers[server.requests.length - 1] ?? {});
  const asking = (comment: string) =>
    `const one = await llm_query("cut", { tools: [] }).catch((e) => e.code); [one, await llm_query("look")] // ${comment}`;
  write("s.js", asking("one"));
  await batch();
  expect(results()).toEqual([["truncated_answer", "found"]]);
  write("s.js", asking("two"));
  expect((await batch()).stderr).not.toContain("reused");
  expect(results()).toEqual([["whole", "found 2"]]);
});

test("--fresh asks again for what was taken over, and only that; --new begins with nothing", async () => {
  const { batch, write, results, server } = await scripted(["a", "b"]);
  await batch("--first", "1");
  write("s.js", script("two"));
  await batch();
  expect(results()).toEqual(["answer 1", "answer 2"]);
  const fresh = await batch("--fresh");
  expect(fresh).toMatchObject(said(0, "1 job will be tried again\n"));
  expect(fresh.stderr).not.toContain("reused");
  expect(results()).toEqual(["answer 3", "answer 2"]);
  await batch("--fresh");
  await batch();
  expect(server.requests).toHaveLength(3);
  expect((await batch("--new")).stderr).not.toContain("reused");
  expect(server.requests).toHaveLength(5);
  expect(await batch("--fresh", "--cache")).toMatchObject(said(2, "--fresh and --cache exclude each other"));
});

test("an answer for a child is known by its context", async () => {
  const cell = (text: string, comment: string) =>
    `await rlm_query("How long is it?", { context: ${JSON.stringify(text)} }) // ${comment}`;
  const { batch, write, server, results } = await scripted(["a"], () => ({
    text: "```js\nanswer(String(P.length))\n```",
  }));
  write("s.js", cell("four", "one"));
  await batch();
  const asked = server.requests.length;
  expect(results()).toEqual(["4"]);
  write("s.js", cell("four", "two"));
  expect(await batch()).toMatchObject(said(0, "1 of 1 answer reused from"));
  expect(results()).toEqual(["4"]);
  expect(server.requests).toHaveLength(asked);
  write("s.js", cell("fives", "three"));
  await batch();
  expect(results()).toEqual(["5"]);
});

test("the forecast counts what is on record, also behind the first rows", async () => {
  const texts = Array.from({ length: 20 }, (_, n) => `t${n}`);
  const { batch, write, server, type } = await scripted(texts, () => DEAR);
  const model = [...priced(server), "--model", "mine/m"];
  expect((await type(["batch", "s.js", "--jobs", "in.jsonl", "--dry-run", ...model])).stdout).not.toContain("reused");
  await batch("--first", "5", ...model);
  write("s.js", script("two"));
  const dry = await batch("--dry-run", ...model);
  expect(dry.stdout).toMatch(
    /\n20 jobs, by 20 of them: ~15 sub-calls, .*up to ~\$0.3\d+\n~5 answers are reused from s-\w+: --fresh asks again\n$/,
  );
  expect(json(await batch("--dry-run", "--json", ...model))).toMatchObject({ all: { sub_calls: 15, reused: 5 } });
  expect((await batch("--dry-run", "--fresh", ...model)).stdout).toContain("20 jobs, by the first 3: ~20 sub-calls");
  // What the first ones took over costs nothing, and says nothing of the others.
  expect((await batch("--first", "4", ...model)).stderr).toMatch(
    /4 of 4 answers reused [\s\S]*\nlikely \$0.09\d? for 20 \(from 4\)/,
  );
  expect(server.requests).toHaveLength(5);
});

test("answers go with the run that asked for them", async () => {
  const { batch, write, server, type } = await scripted(["a"]);
  await batch("--name", "first");
  write("s.js", script("two"));
  await batch("--name", "second");
  await type(["jobs", "rm", "first"]);
  write("s.js", script("three"));
  expect(await batch("--name", "third")).toMatchObject(said(0, "1 of 1 answer reused from"));
  await type(["jobs", "rm", "second"]);
  await type(["jobs", "rm", "third"]);
  write("s.js", script("four"));
  await batch();
  expect(server.requests).toHaveLength(2);
});

import { expect, test } from "vitest";
import { openScripted } from "../../support/scripted-session.ts";

const JOB = { path: "a.ts", tags: ["x", { deep: [1, null] }], "": true };
const parts = { job: JSON.stringify(JOB) };

test("a cell reads the input of its job, and cannot change it", async () => {
  const { session } = await openScripted(() => "", {}, null, parts);
  expect((await session.exec("job")).result_json).toEqual(JOB);
  const tried = await session.exec(`
    const failed = [];
    for (const change of [() => { job.path = "b" }, () => { job.tags.push(1) }, () => { job.tags[1].deep[0] = 2 }]) {
      try { (function () { "use strict"; change(); })() } catch (error) { failed.push(error.name) }
    }
    [failed.length > 0, Object.isFrozen(job), Object.isFrozen(job.tags[1].deep), job === job, JSON.stringify(job)]`);
  expect(tried.result_json).toEqual([true, true, true, true, JSON.stringify(JOB)]);
});

test("a job whose input is null or a text is that value", async () => {
  const { session: none } = await openScripted(() => "", {}, null, { job: "null" });
  expect((await none.exec("job")).result_json).toBeNull();
  const { session: text } = await openScripted(() => "", {}, null, { job: '"a line\u2028"' });
  expect((await text.exec("job + 1")).result_json).toBe("a line\u20281");
});

test("an exec that is resumed has the same job, also if nothing has read it before", async () => {
  const leave = new AbortController();
  const { session, store } = await openScripted(
    (_request, signal) => {
      leave.abort();
      return new Promise((resolve) => signal.addEventListener("abort", () => resolve("")));
    },
    { model: "test/scripted" },
    null,
    parts,
  );
  const cell = 'const said = await llm_query("?", { tools: [] }); [said, job]';
  expect(await session.exec(cell, { suspend: leave.signal })).toMatchObject({ success: false, resumable: true });
  await session.close();
  const next = await openScripted(() => "again", { session: session.id }, null, { store, ...parts });
  expect(await next.session.resume()).toMatchObject({ envelope: { result_json: ["again", JOB] } });
});

test("a number that JavaScript would round is a text of its digits, and the cell that reads the job is warned", async () => {
  const leave = new AbortController();
  const big = { job: '{"id":1234567890123456789,"user":{"n":1.50},"zero":-0}' };
  const { session, store } = await openScripted(
    (_request, signal) => {
      leave.abort();
      return new Promise((resolve) => signal.addEventListener("abort", () => resolve("")));
    },
    { model: "test/scripted" },
    null,
    big,
  );
  expect(await session.exec("1")).toMatchObject({ warnings: [] });
  const cell = 'const { id } = job; await llm_query("?", { tools: [] }); [id, job.user.n, Object.is(job.zero, -0)]';
  expect(await session.exec(cell, { suspend: leave.signal })).toMatchObject({ success: false, resumable: true });
  await session.close();
  const next = await openScripted(() => "again", { session: session.id }, null, { store, ...big });
  const envelope = { result_json: ["1234567890123456789", 1.5, true], warnings: ["number_as_text: id"] };
  expect(await next.session.resume()).toMatchObject({ envelope });
});

test("a dry run has the job too", async () => {
  const { session } = await openScripted(() => "", {}, null, parts);
  expect((await session.dryRun("job.path")).envelope.result_json).toBe("a.ts");
});

test("the cells of a child have no job: all that they see is their P", async () => {
  const { session } = await openScripted(
    () => "```js\nanswer(job === null ? 'no job' : 'a job')\n```",
    { model: "test/scripted" },
    undefined,
    parts,
  );
  await session.load({ text: "some text", name: "t" });
  expect(await session.exec('await rlm_query("What?", { context: P })')).toMatchObject({ result_json: "no job" });
});

import { join } from "node:path";
import { expect, test } from "vitest";
import { isLent, lentTo } from "../../../src/runs/lent-agents.ts";
import { processParts } from "../../../src/runs/process-parts.ts";
import { newSpec } from "../../../src/runs/spec.ts";
import { openStore } from "../../../src/store/index.ts";

const command = { command: ["coder"] };
const lent = {
  commands: { coder: command, other: command },
  source: "result = 1;",
  jobs: { '{"agent":"coder","id":"q1","question":"Where?"}': { agent: "coder", files: "notes" } },
};
const spec = { script: { name: "eval", source: "result = 1;" } };
const input = '{"id":"q1","question":"Where?","agent":"coder"}';

test("a job has the agent that it was submitted with, in a folder of its own", () => {
  const found = lentTo(lent, spec, { session: "S", input });
  expect(found?.options).toMatchObject({ agents: { coder: command }, waitsForUser: true });
  expect(found?.options.cwd).toBe(found?.folder);
  expect(found?.folder.endsWith(join("/", "belay-agent-S"))).toBe(true);
  const start = { exec_id: "e", cell: lent.source, workflow: true };
  expect(found?.workflows.doubt(start)).toBeNull();
  for (const other of [
    { ...start, cell: "llm_query('rm', { agent: 'coder' })" },
    { exec_id: "e", cell: lent.source },
  ]) {
    expect(found?.workflows.doubt(other)).toBe("agents are lent to the script of this run alone");
  }
});

test("rows that were changed have no agent", () => {
  const other = { script: { ...spec.script, source: "result = 2;" } };
  const of = (changed: string) => lentTo(lent, spec, { session: "S", input: changed });
  expect(lentTo(lent, other, { session: "S", input })).toBeNull();
  expect(of(input.replace("Where?", "Delete all?"))).toBeNull();
  expect(of(input.replace('"coder"', '"other"'))).toBeNull();
  expect(lentTo(null, spec, { session: "S", input })).toBeNull();
  expect([isLent(lent, spec, "coder"), isLent(lent, other, "coder"), isLent(lent, spec, "constructor")]).toEqual([
    ...[true, false, false],
  ]);
});

test("a worker without the agents leaves their run alone", async () => {
  await using store = await openStore(null);
  const suspend = new AbortController().signal;
  const asking = newSpec({ ...spec, context: "none", agents: ["coder"] });
  const refusalBy = async (agents: typeof lent | null) =>
    (await processParts({ store, suspend, session: { models: null, lent: agents } })).refusal(asking);
  expect(await refusalBy(null)).toBe("only the command that began it lends its jobs the agent coder");
  expect(await refusalBy({ ...lent, source: "result = 2;" })).toContain("the agent coder");
  expect(await refusalBy(lent)).toBeNull();
});

import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { isLent, lentTo, withAgent } from "../../../src/runs/lent-agents.ts";
import { processParts } from "../../../src/runs/process-parts.ts";
import { newSpec } from "../../../src/runs/spec.ts";
import type { JobEnd } from "../../../src/runs/try-parts.ts";
import { openAgentPlaces } from "../../../src/session/index.ts";
import { openStore } from "../../../src/store/index.ts";
import { folderWith } from "../../support/tree.ts";

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

test("an agent works in a copy of what a load reads, which goes when its job is over", async () => {
  const files = folderWith({
    "a.txt": "A",
    "b/c.txt": "C",
    ".env": "KEY=1",
    ".gitignore": "left.txt",
    "left.txt": "L",
  });
  const copied = { ...lent, jobs: { [Object.keys(lent.jobs)[0] ?? ""]: { agent: "coder", files } } };
  const found = lentTo(copied, spec, { session: `T${process.pid}`, input });
  if (!found) throw new Error("it is not lent");
  // A process that was killed while it copied.
  mkdirSync(`${found.folder}.part`);
  writeFileSync(join(`${found.folder}.part`, "half.txt"), "H");
  const seen: string[][] = [];
  const left: JobEnd = { kind: "unfinished" };
  const over: JobEnd = { kind: "over", code: null, result: "1", told: {} };
  const session = withAgent(
    {
      async run() {
        seen.push(readdirSync(found.folder, { recursive: true }).map(String).sort());
        writeFileSync(join(found.folder, "a.txt"), "changed");
        return seen.length === 1 ? left : over;
      },
      discard: async () => null,
      close: async () => {},
    },
    found,
    openAgentPlaces(lent.commands),
  );
  const signal = new AbortController().signal;
  expect(await session.run({ signal, suspend: signal })).toEqual(left);
  expect(existsSync(found.folder)).toBe(true);
  expect(await session.run({ signal, suspend: signal })).toEqual(over);
  expect(seen).toEqual(Array(2).fill([".gitignore", "a.txt", "b", join("b", "c.txt")]));
  expect(readFileSync(join(files, "a.txt"), "utf8")).toBe("A");
  expect([existsSync(found.folder), existsSync(`${found.folder}.part`)]).toEqual([false, false]);
  expect(await session.run({ signal: AbortSignal.abort(), suspend: signal })).toEqual(left);
});

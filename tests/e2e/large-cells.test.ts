import { cpSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import type { ModelRequest } from "../../src/models/index.ts";
import { openSessionWith } from "../../src/session/session.ts";
import { openStore } from "../../src/store/index.ts";
import { KEY_VARIABLE, type Life, live } from "../support/crash/life.ts";
import { findingsInStore } from "../support/crash/store-check.ts";
import { FEW_FILES, lowerBorder } from "../support/low-border.ts";
import { type ModelServer, startModelServer } from "../support/model-server.ts";
import { openScripted, using } from "../support/scripted-session.ts";
import { folderWith } from "../support/tree.ts";

// Cells that hold a P in files: in real processes that are killed, and in the children of calls.

const PREPARED = mkdtempSync(join(tmpdir(), "belay-large-cells-"));
const FILES = FEW_FILES + 2;

afterAll(lowerBorder());

beforeAll(async () => {
  const folder = mkdtempSync(join(tmpdir(), "belay-many-files-"));
  for (let n = 0; n < FILES; n++) writeFileSync(join(folder, `${n}.txt`), `file ${n} 😀\n`);
  await using store = await openStore(join(PREPARED, "home"));
  await using session = await openSessionWith({ session: "base", roots: [folder] }, { store });
  const { stats } = await session.load(folder);
  if (stats.large !== true) throw new Error("the context is not large");
  rmSync(folder, { recursive: true });
  return () => rmSync(PREPARED, { recursive: true, force: true });
}, 120_000);

function run(folder: string, server: ModelServer, args: readonly string[], operation: number): Promise<Life> {
  const model = ["--model", "local/scripted", "--base-url", server.url, "--api-key-env", KEY_VARIABLE];
  const kill = operation === 0 ? null : ({ how: "operation", operation, side: "after", waitMs: 0 } as const);
  return live([...args, "--json", ...model], { cwd: folder, home: join(folder, "home"), key: "k", kill });
}

/** The result of a process that ended by itself; undefined: it ran no cell to its end. */
function resultOf({ stdout }: Life): unknown {
  const answer: { readonly result_json?: unknown } | null = JSON.parse(stdout || "null");
  return answer?.result_json ?? undefined;
}

const HOLDING = `const kept = { P, part: P.slice(100, 200) };
let seen = "";
for (let i = 0; i < 2; i++) seen += P[7_000 + i] + await llm_query("which " + i, { tools: [] });
[typeof kept.P, kept.P === P, kept.part === P.slice(100, 200), seen, P.indexOf("file 999 ") > 0, count("file \\\\d+ 😀")]`;

test.each([4, 6])("a cell that holds P is killed after write %i, and goes on where it was", async (operation) => {
  await using server = await startModelServer(({ prompt }) => ({ text: `<${prompt}>` }));
  const folder = folderWith();
  cpSync(PREPARED, folder, { recursive: true });
  const killed = await run(folder, server, ["exec", "--session", "base", "-e", HOLDING], operation);
  expect(killed.interrupted, killed.operations.join(" ")).toBe(true);
  const resumed = await run(folder, server, ["resume", "base"], 0);
  const where = `${killed.operations.join(" ")}: ${resumed.stdout}${resumed.stderr}`;
  const seen = expect.stringMatching(/^.<which 0>.<which 1>$/s);
  expect(resultOf(resumed), where).toEqual(["object", true, true, seen, true, FILES]);
  const home = join(folder, "home");
  await using store = await openStore(home);
  expect(await findingsInStore(home, store), where).toEqual([]);
});

const LOOK = `answer(JSON.stringify([typeof P, stats().docs, count("file"), P.slice(-9), stats().large ?? false]))`;
const ASKING = `const documents = [0, 900].flatMap((from) => [0, 1].map((n) => list_docs("", { from: from + n, limit: 1 })[0]));
const asked = await Promise.all([
  rlm_query("Whole?", { max_sub_calls: 0 }),
  llm_query("All but one?", { context: [documents[1].start, P.length], max_sub_calls: 0 }),
  llm_query("Some?", { context: documents, max_sub_calls: 0 }),
]);
const refused = await llm_query("P?", { context: P }).catch((error) => error.message);
[...asked.map((text) => JSON.parse(text)), refused]`;

test("calls with a context get all of a large P or parts of it, which may be large as well", async () => {
  const folder = folderWith();
  cpSync(PREPARED, folder, { recursive: true });
  const store = await openStore(join(folder, "home"));
  onTestFinished(() => store[Symbol.asyncDispose]());
  const questions: string[] = [];
  const script = ({ messages }: ModelRequest) => {
    const [first] = messages;
    if (messages.length > 1 || first?.role !== "user") return "done";
    questions.push(first.text);
    return using("rlm_exec", { code: LOOK });
  };
  const options = { session: "base" };
  const { session } = await openScripted(script, options, { input: 1, output: 2 }, { store });
  const { result_json } = await session.exec(ASKING);
  const end = expect.stringMatching(/\d 😀\n$/);
  expect(result_json).toEqual([
    ["object", FILES, FILES, end, true],
    ["object", FILES - 1, FILES - 1, end, true],
    ["string", 4, 4, end, false],
    expect.stringMatching(/^context: P would copy/),
  ]);
  expect(questions.filter((text) => text.includes("P is too large to be a string in cells"))).toHaveLength(2);
});

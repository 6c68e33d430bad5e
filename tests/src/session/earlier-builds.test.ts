import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { expect, onTestFinished, test } from "vitest";
import type { ImageFormat } from "../../../runtime/images/image.ts";
import { imageFormat } from "../../../runtime/index.ts";
import type { Session } from "../../../src/session/api.ts";
import { openSessionWith } from "../../../src/session/session.ts";
import { openStore, type Store } from "../../../src/store/index.ts";
import { collected } from "../../support/collected.ts";
import { threadEntry } from "../../support/command.ts";
import { commandHere } from "../../support/command-here.ts";
import { findingsInStore } from "../../support/crash/store-check.ts";
import { type ModelScript, type ModelServer, startModelServer } from "../../support/model-server.ts";
import {
  ANSWER,
  ASKED,
  ASKING,
  COUNT_CELL,
  COUNTED,
  FINISHED,
  INTERRUPTED,
  LOOK,
  LOOK_WITHOUT_VARIABLES,
  openAsk,
  openStored,
  openStoredRuns,
  QUESTION,
  RUN,
  SEEN,
  SEEN_WITHOUT_VARIABLES,
} from "../../support/stored-sessions.ts";
import { folderWith } from "../../support/tree.ts";

/** Files of tests/stored, and whether this build still reads the guests in them. */
const STORED = ["bridge-5", "bridge-6", "bridge-7"] as const;

function folderOf(file: string): string {
  const packed = readFileSync(new URL(`../../stored/${file}.db.gz`, import.meta.url));
  return folderWith({ "belay.db": gunzipSync(packed) });
}

async function storeOf(file: string): Promise<Store> {
  const store = await openStore(folderOf(file));
  onTestFinished(() => store[Symbol.asyncDispose]());
  return store;
}

async function served(script: ModelScript): Promise<ModelServer> {
  const server = await startModelServer(script);
  onTestFinished(() => server.close());
  return server;
}

/** Opens a session of the store; `sent` has the prompts that its models were asked. */
async function opened(store: Store, name: string, machineEntry?: URL): Promise<{ session: Session; sent: unknown[] }> {
  const sent: unknown[] = [];
  const session = await openStored(name, { store, ...(machineEntry ? { machineEntry } : {}) }, async (prompt) => {
    sent.push(prompt);
    return prompt;
  });
  onTestFinished(() => session.close());
  return { session, sent };
}

/** The store as a build wrote it whose images have another format. */
async function storeWith(file: string, changed: Partial<ImageFormat>): Promise<Store> {
  const store = await storeOf(file);
  const sessions = await Promise.all([FINISHED, INTERRUPTED].map((name) => store.find(name)));
  const checkpoints = await Promise.all(sessions.map((session) => store.checkpoints(session?.id ?? "")));
  // A machine that is given up is opened again from a checkpoint of this build.
  const written = new Set(checkpoints.flat().map(({ id }) => id));
  return {
    ...store,
    async checkpoint(id) {
      const row = await store.checkpoint(id);
      if (!written.has(id)) return row;
      return { ...row, meta: { ...row.meta, gate: { ...row.meta.gate, ...changed } } };
    },
  };
}

test.each(STORED)("a session of %s opens with its variables, memory and helpers", async (file) => {
  const { session } = await opened(await storeOf(file), FINISHED);
  expect(await session.exec(LOOK)).toMatchObject({ success: true, result_json: SEEN, warnings: [] });
});

test.each(STORED)("a session of %s that was interrupted goes on at its await", async (file) => {
  const { session, sent } = await opened(await storeOf(file), INTERRUPTED);
  const finished = await session.resume();
  expect(finished?.envelope).toMatchObject({ success: true, resumed: 1, result_json: ["first", "second", 2] });
  expect(sent).toEqual(["second"]);
});

test.each(STORED)("a session of %s gets builtins that were added since, and may have their names", async (file) => {
  const entry = threadEntry("async");
  const { session, sent } = await opened(await storeOf(file), FINISHED, entry);
  expect(await session.exec("[reversed('abc'), await later('x'), help(later).split('\\n')[0]]")).toMatchObject({
    result_json: ["cba", "x", "function later(value: Json, ms?: number): Promise<Json>"],
    warnings: [],
  });
  expect(sent).toEqual(["x"]);
  const refused = "await rlm_query('Which?', { tools: [] }).catch((error) => [error.name, error.message])";
  expect(await session.exec(refused)).toMatchObject({
    result_json: ["TypeError", "rlm_query: context and tools do not go together"],
  });
  expect(await session.exec("const later = 5, reversed = () => 6; [later, reversed()]")).toMatchObject({
    result_json: [5, 6],
    warnings: ["builtin_shadowed: later", "builtin_shadowed: reversed"],
  });
  expect(await session.exec(LOOK)).toMatchObject({ result_json: SEEN });
});

test.each(STORED)("the command shows and checks what %s has stored", async (file) => {
  const home = folderOf(file);
  const of = async (...args: string[]) => commandHere(args, { home });
  const { sessions } = JSON.parse((await of("sessions", "--json")).stdout);
  expect(sessions).toMatchObject([
    { name: ASKING, status: "unfinished", execs: 4 },
    { name: ASKED, status: "idle", execs: 4, tokens: 220 },
    { name: INTERRUPTED, status: "unfinished", sub_calls: 2 },
    { name: FINISHED, status: "idle", context: { chars: 23 } },
  ]);
  const shown = await of("show", ASKED);
  for (const part of [QUESTION, COUNT_CELL, ANSWER, "c.pdf"]) expect(shown.stdout).toContain(part);
  const run = JSON.parse((await of("jobs", RUN.name ?? "", "--json")).stdout);
  expect(run).toMatchObject({
    jobs: [
      { job: "apple", status: "done" },
      { job: "pear", sub_calls: 1 },
    ],
  });
  const store = await openStore(home);
  onTestFinished(() => store[Symbol.asyncDispose]());
  expect(await findingsInStore(home, store)).toEqual([]);
});

test.each(STORED)("an ask of %s that was interrupted goes on after its last reply", async (file) => {
  const store = await storeOf(file);
  const server = await served(COUNTED);
  await using session = await openAsk(ASKING, store, server);
  expect(session.unfinished()).toMatchObject({ kind: "ask", input: QUESTION });
  expect(await session.resume()).toMatchObject({ envelope: { success: true, answer: ANSWER, resumed: 1 } });
  expect(server.requests).toHaveLength(1);
  expect(await session.exec("[count, list_docs().length]")).toMatchObject({ result_json: [2, 2] });
});

test.each(STORED)("a run of %s goes on where its process ended, and asks nothing again", async (file) => {
  const server = await served(({ prompt }) => ({ text: `${prompt}: sour` }));
  const runs = await openStoredRuns(folderOf(file), server);
  onTestFinished(() => runs.close());
  const run = await runs.submit(RUN);
  expect(run.jobs).toEqual({ all: 2, added: 0, again: 0 });
  expect(await run.follow()).toMatchObject({ state: "over", jobs: { done: 2 } });
  expect(server.requests.map(({ prompt }) => prompt)).toEqual(["second pear"]);
  expect((await collected(run.results())).map(({ result }) => result)).toEqual([
    ["first apple: sweet", "second apple: sweet"],
    ["first pear: sweet", "second pear: sour"],
  ]);
});

test.each([
  { of: "an older bridge", changed: { bridge: 0 }, why: /checkpoint bridge 0, this build speaks \d+ to \d+;/ },
  { of: "a newer bridge", changed: { bridge: 999 }, why: /checkpoint bridge 999, this build speaks \d+ to \d+;/ },
  { of: "another format", changed: { format: 999 }, why: /checkpoint format 999, this build reads \d+;/ },
  { of: "another engine", changed: { wasm: "ab".repeat(32) }, why: /checkpoint of engine (ab){6}, this build runs / },
])("a guest of $of is refused by name, and memory and helpers stay", async ({ changed, why }) => {
  const store = await storeWith("bridge-6", changed);
  const { session } = await opened(store, FINISHED);
  const warnings = [expect.stringMatching(new RegExp(`^variables_lost: ${why.source}`))];
  expect(await session.exec(LOOK_WITHOUT_VARIABLES)).toMatchObject({ result_json: SEEN_WITHOUT_VARIABLES, warnings });
  expect(await session.exec("1")).toMatchObject({ warnings: [] });
});

test("a cell that waits in a guest which cannot be read is refused by name, and nothing is sent", async () => {
  const store = await storeWith("bridge-6", { bridge: 999 });
  const { session, sent } = await opened(store, INTERRUPTED);
  const finished = await session.resume();
  expect(finished?.envelope).toMatchObject({ success: false, error_code: "checkpoint_lost" });
  expect(sent).toEqual([]);
  expect(await session.exec(LOOK_WITHOUT_VARIABLES)).toMatchObject({ result_json: SEEN_WITHOUT_VARIABLES });
});

test("sessions of the present bridge are among those that are kept", async () => {
  expect(STORED).toContain(`bridge-${imageFormat().bridge}`);
});

test.each(STORED)("a guest of %s, which knows no functions, calls those of a program", async (file) => {
  const store = await storeOf(file);
  const lookUp = { description: "Looks up.", parameters: {}, effects: "none", run: () => "found" } as const;
  await using session = await openSessionWith({ session: FINISHED, functions: { lookUp } }, { store });
  expect(await session.exec("[await lookUp({}), functions().length]")).toMatchObject({ result_json: ["found", 1] });
});

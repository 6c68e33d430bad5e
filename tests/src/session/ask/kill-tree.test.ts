import { expect, onTestFinished, test } from "vitest";
import { openMachines } from "../../../../runtime/threads/machines.ts";
import { sha256 } from "../../../../src/pi/read-cache/file.ts";
import { openSessionWith } from "../../../../src/session/index.ts";
import { openStore, type Store } from "../../../../src/store/index.ts";
import { listed } from "../../../support/listed.ts";
import { type ModelServer, startModelServer } from "../../../support/model-server.ts";
import { type Operation, storeAround } from "../../../support/store-around.ts";

process.env.ASK_KEY = "k";

/**
 * A tree of depth 2, whose sessions have one turn each: the cell of the ask calls a child, whose cell makes a plain sub-call
 * and calls a child of its own.
 */
const CELLS: Readonly<Record<string, string>> = {
  "Look deeper": "answer(P.length)",
  "Look in the part":
    "const is = llm_query('Is it?', { tools: [] }); const deep = await llm_query('Look deeper', { context: P.slice(0, 20), max_sub_calls: 0 }); answer(await is + deep, { cite: [30, 34] })",
  "What is the code":
    "const [[at]] = find('code').matches; const got = await rlm_query('Look in the part', { context: [at, at + 9], cites: true }); answer(got.answer + peek(...got.cites[0]), { cite: got.cites })",
};
/** Requests of the whole tree. */
const REQUESTS = 3 + 1;
const ANSWER = { success: true, answer: "yes204711", turns: 1, cells: 1, sub_calls: 3, children: 1, depth_reached: 2 };

async function model(): Promise<ModelServer> {
  const server = await startModelServer(({ body }) => {
    if (body.model === "sub") return { text: "yes" };
    const question = String(body.messages.find(({ role }) => role === "user")?.content);
    const code = Object.entries(CELLS).find(([asked]) => question.startsWith(asked))?.[1];
    return { tools: [{ id: "u", name: "rlm_exec", arguments: { code } }] };
  });
  onTestFinished(() => server.close());
  return server;
}

/** Three machines are open at once, and none of their threads ends in between. */
const machines = openMachines({ kept: 3 });

const open = (server: ModelServer, store: Store, session: string) =>
  openSessionWith(
    { model: "local/sub", baseUrl: server.url, apiKeyEnv: "ASK_KEY", session, store: "-" },
    { store, machines },
  );

/** Steps of the ask until its call is kept, and from the call's result on: those of an ask alone are in kill.test.ts. */
const STEPS_BEFORE = 5;
const STEPS_AFTER = 3;

/** What changes a store. A process may die between any two of them. */
const STEPS: ReadonlySet<Operation> = new Set(["create", "lease", "commit", "putContext"]);

/** A process that dies after so many steps of its ask; null: it lives. Answers how many it made. */
async function begun(server: ModelServer, store: Store, name: string, dies: number | null): Promise<Operation[]> {
  const steps: Operation[] = [];
  let isAsking = false;
  let sent = Number.POSITIVE_INFINITY;
  const dying = storeAround(store, async (operation, run) => {
    if (operation === "release") return run();
    if (dies !== null && steps.length >= dies) {
      sent = Math.min(sent, server.requests.length);
      throw new Error("the process is gone");
    }
    const done = await run();
    if (isAsking && STEPS.has(operation)) steps.push(operation);
    return done;
  });
  const session = await open(server, dying, name);
  await session.load({ text: "nothing, then code 4711 and more", name: "notes" });
  isAsking = true;
  const envelope = await session.ask("What is the code?", { model: "local/root" }).catch(() => null);
  if (dies === null) expect(envelope).toMatchObject(ANSWER);
  await session.close().catch(() => {});
  // A process that is gone sends nothing.
  server.requests.splice(sent);
  return steps;
}

/** The bodies of its requests: what was said, and a hash of the whole, whose prompt is long. */
function bodiesOf({ requests }: ModelServer): Set<string> {
  return new Set(
    requests.map(({ body }) => `${JSON.stringify(body.messages.slice(1))} ${sha256(JSON.stringify(body))}`),
  );
}

/** What the session has spent; its time differs from run to run. */
async function spent(server: ModelServer, store: Store, name: string) {
  await using session = await open(server, store, name);
  const { remaining_tokens, remaining_sub_calls } = session.budget();
  return { remaining_tokens, remaining_sub_calls };
}

/** Drops the session, its children and their contexts: the next run keeps them anew. */
async function forget(store: Store, name: string) {
  await store.remove((await store.find(name))?.id ?? "");
  await store.gc({ now: 0, anonymousMs: 0, namedMs: null, pi: false, dryRun: false });
  expect(await listed(store)).toEqual([]);
}

test("a tree of asks goes on after a death at any step of its children; no recorded answer is requested again", async () => {
  const whole = await model();
  await using store = await openStore(null);
  const steps = await begun(whole, store, "whole", null);
  const ledger = await spent(whole, store, "whole");
  await forget(store, "whole");
  expect(whole.requests).toHaveLength(REQUESTS);
  // Two children are made, and each keeps its context.
  expect(steps.filter((step) => step !== "commit")).toEqual(["create", "putContext", "create", "putContext"]);
  let resent = 0;
  let deaths = 0;
  // The child's child takes the same steps as the child, an odd number later: every second one has each kind of step.
  for (let dies = STEPS_BEFORE; dies <= steps.length - STEPS_AFTER; dies += 2) {
    deaths++;
    const server = await model();
    const name = `dies after ${dies}`;
    await begun(server, store, name, dies);
    const session = await open(server, store, name);
    expect(session.unfinished()?.kind, name).toBe("ask");
    const resumed = await session.resume();
    await session.close();
    expect(resumed?.envelope, name).toMatchObject(ANSWER);
    expect(bodiesOf(server), name).toEqual(bodiesOf(whole));
    expect(await spent(server, store, name), name).toEqual(ledger);
    // What was in flight is sent again, and nothing else: the child's cell has two calls at once.
    expect(server.requests.length - REQUESTS, name).toBeLessThanOrEqual(2);
    resent += server.requests.length - REQUESTS;
    await forget(store, session.id);
  }
  console.log(`${deaths} deaths of a tree of asks, ${resent} requests sent again`);
}, 120_000);

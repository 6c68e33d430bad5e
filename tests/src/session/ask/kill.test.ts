import { expect, onTestFinished, test } from "vitest";
import { openSessionWith } from "../../../../src/session/index.ts";
import { openStore, type Store } from "../../../../src/store/index.ts";
import { type ModelServer, startModelServer } from "../../../support/model-server.ts";
import { storeAround } from "../../../support/store-around.ts";

process.env.ASK_KEY = "k";

/** Three turns: the second makes a sub-call, the third answers. By the conversation alone, so that any order of requests works. */
async function model(): Promise<ModelServer> {
  const server = await startModelServer(({ body }) => {
    const turn = body.messages.filter(({ role }) => role === "assistant").length;
    const cell = (code: string) => ({ tools: [{ id: `u${turn}`, name: "rlm_exec", arguments: { code } }] });
    if (body.model === "sub") return { text: "yes" };
    if (turn === 0) return cell("const at = P.indexOf('code'); print(at)");
    if (turn === 1) return cell("const is = await llm_query('Is it? ' + peek(at, at + 9)); print(is)");
    return cell("answer(peek(at + 5, at + 9) + is, { cite: [at, at + 9] })");
  });
  onTestFinished(() => server.close());
  return server;
}

const open = (server: ModelServer, store: Store, session: string) =>
  openSessionWith({ model: "local/sub", baseUrl: server.url, apiKeyEnv: "ASK_KEY", session, store: "-" }, { store });

/** A process that dies before, or after, the nth write of its ask; null: it lives. */
async function begun(server: ModelServer, store: Store, name: string, dies: { nth: number; after: boolean } | null) {
  let commits = -1;
  let isDead = false;
  const dying = storeAround(store, async (operation, run) => {
    if (operation === "release") return run();
    if (isDead) throw new Error("the process is gone");
    if (operation !== "commit" || commits < 0) return run();
    commits++;
    if (dies?.nth !== commits) return run();
    isDead = true;
    if (dies.after) await run();
    throw new Error("the process is gone");
  });
  const session = await open(server, dying, name);
  await session.load({ text: "nothing, then code 4711 and more", name: "notes" });
  commits = 0;
  const envelope = await session.ask("What is the code?", { model: "local/root" }).catch(() => null);
  await session.close().catch(() => {});
  return { envelope, commits };
}

const bodiesOf = (server: ModelServer) => server.requests.map(({ body }) => JSON.stringify(body));

test("an ask goes on after a death before or after each of its commits; no recorded answer is requested again", async () => {
  const whole = await model();
  await using store = await openStore(null);
  const { envelope, commits } = await begun(whole, store, "whole", null);
  expect(envelope).toMatchObject({ success: true, answer: "4711yes", turns: 3, cells: 3, sub_calls: 1 });
  expect(commits).toBeGreaterThan(12);
  const seen = { resent: 0, points: 0 };
  for (let nth = 1; nth <= commits; nth++) {
    // Before a later commit the store is as it was after the one before.
    for (const after of nth === commits ? [false, true] : [false]) {
      const server = await model();
      const name = `${nth}-${after}`;
      await begun(server, store, name, { nth, after });
      const session = await open(server, store, name);
      const resumed = session.unfinished() ? (await session.resume())?.envelope : null;
      const isBegun = resumed !== null || (await session.resume())?.kind === "ask";
      await session.close();
      if (!isBegun) continue;
      seen.points++;
      if (resumed)
        expect(resumed, `${nth} ${after}`).toMatchObject({ answer: "4711yes", turns: 3, sub_calls: 1, resumed: 1 });
      expect(new Set(bodiesOf(server))).toEqual(new Set(bodiesOf(whole)));
      seen.resent += server.requests.length - whole.requests.length;
      expect(server.requests.length - whole.requests.length).toBeLessThanOrEqual(1);
    }
  }
  expect(seen.points).toBeGreaterThanOrEqual(commits);
  console.log(`${seen.points} deaths of an ask, ${seen.resent} requests sent again`);
}, 120_000);

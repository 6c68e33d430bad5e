import { expect, onTestFinished, test } from "vitest";
import { openSession, openStore } from "../../../../src/index.ts";
import { openStore as openJournals } from "../../../../src/store/index.ts";
import { cell } from "../../../support/ask/scene.ts";
import { type ModelScript, startModelServer } from "../../../support/model-server.ts";
import { folderWith } from "../../../support/tree.ts";

const KEY = "the-key-of-the-user-4711";
process.env.ASK_KEY = KEY;

/** Three turns, by the conversation alone: a fork is answered like the session itself. */
const THREE: ModelScript = ({ body }) => {
  const turn = body.messages.filter(({ role }) => role === "assistant").length;
  if (turn === 0) return cell("const seen = [P.length]; print(seen)");
  if (turn === 1) return cell("seen.push(2); print(seen)");
  return cell("answer(seen.join())");
};

async function scene(script: ModelScript) {
  const server = await startModelServer(script);
  onTestFinished(() => server.close());
  const folder = folderWith();
  const open = async (session: string) => {
    const options = { model: "local/root", baseUrl: server.url, apiKeyEnv: "ASK_KEY" };
    const opened = await openSession({ ...options, session, store: folder });
    onTestFinished(() => opened.close());
    return opened;
  };
  return { server, folder, open };
}

test("a fork at the end of each cell has the open ask with the turns so far, and asks for the others alone", async () => {
  const { server, folder, open } = await scene(THREE);
  const session = await open("whole");
  await session.load({ text: "four", name: "notes" });
  expect(await session.ask("How long?")).toMatchObject({ answer: "4,2", turns: 3, cells: 3 });
  await using store = await openStore(folder);
  const { checkpoints } = await store.describe("whole");
  const ends = checkpoints.filter(({ kind }) => kind === "end").slice(1);
  expect(ends).toHaveLength(3);
  for (const [at, { id }] of ends.entries()) {
    const before = server.requests.length;
    await store.fork("whole", { checkpoint: id, name: `fork-${at}` });
    const fork = await open(`fork-${at}`);
    expect(fork.unfinished()).toMatchObject({ kind: "ask", input: "How long?" });
    expect(await fork.resume()).toMatchObject({ kind: "ask", envelope: { answer: "4,2", turns: 3, cells: 3 } });
    expect(server.requests.length - before).toBe(2 - at);
  }
});

test("a fork of a session whose ask is over has its answer, and nothing is unfinished", async () => {
  const { server, folder, open } = await scene([cell("print(1)"), { text: "It is 4." }]);
  const session = await open("whole");
  await session.load({ text: "four", name: "notes" });
  const { ask_id } = await session.ask("How long?");
  await using store = await openStore(folder);
  expect(await store.fork("whole", { name: "fork" })).toMatchObject({ status: "idle" });
  const fork = await open("fork");
  expect(fork.unfinished()).toBeNull();
  expect(fork.budget()).toEqual(session.budget());
  expect(await fork.resume()).toMatchObject({ how: "replayed", envelope: { ask_id, answer: "It is 4.", turns: 2 } });
  expect(server.requests).toHaveLength(2);
});

test("the key is in no record, whatever the provider says with it", async () => {
  const echo = { status: 401, body: JSON.stringify({ error: { message: `Incorrect API key provided: ${KEY}` } }) };
  const replies = [cell("print(1)"), echo, { text: "It is 4.", headers: { "x-echo": KEY } }];
  const { folder, open } = await scene(replies);
  const session = await open("s");
  await session.load({ text: "four", name: "notes" });
  const paused = await session.ask("How long?");
  const error_message = expect.stringContaining("Incorrect API key");
  expect(paused).toMatchObject({ error_code: "auth_failed", error_message });
  expect(await session.resume()).toMatchObject({ envelope: { answer: "It is 4." } });
  expect(JSON.stringify(paused)).not.toContain(KEY);
  await using store = await openJournals(folder);
  const records = JSON.stringify(await store.journal(session.id));
  expect(records).toContain("Incorrect API key");
  expect(records).not.toContain(KEY);
});

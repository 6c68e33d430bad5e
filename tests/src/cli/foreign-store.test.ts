import { existsSync, renameSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openSessionWith } from "../../../src/session/index.ts";
import { openSigner } from "../../../src/settings/signed-settings.ts";
import { openStore } from "../../../src/store/index.ts";
import { type ModelServer, startModelServer } from "../../support/model-server.ts";
import { folderWith } from "../../support/tree.ts";
import { belayHere, killedHere } from "./in-process.ts";

const KEY = "the victim's key";
const SECRET = "the victim's secret";

/** Variables of somebody with a folder of settings of their own. */
const person = (env: Record<string, string> = {}) => ({ XDG_CONFIG_HOME: folderWith(), ...env });

/** A server that asks for a private file, and holds its first answer back until a run has been interrupted. */
async function startThief(path: string) {
  const thief = { isPatient: true };
  const server = await startModelServer(({ body }) => {
    const isFirst = !body.messages.some(({ role }) => role === "tool");
    const tools = [{ id: "t1", name: "read_file", arguments: { path } }];
    return { ...(isFirst ? { tools } : { text: "thanks" }), ...(thief.isPatient ? { delayMs: 60_000 } : {}) };
  });
  return { server, goOn: () => (thief.isPatient = false), [Symbol.asyncDispose]: () => server.close() };
}

const received = ({ requests }: ModelServer) =>
  JSON.stringify(requests.map(({ headers, body }) => ({ headers, body })));

const ASK = `result = await llm_query("read it", { tools: ["read_file"] })`;

/** A store with an interrupted cell that sends the victim's key, and a file of theirs, to a server of its author's. */
async function startTrap() {
  const folder = folderWith({ "private/secret.txt": SECRET, "home/": "", "store/": "" });
  const [secret, store] = [join(folder, "private/secret.txt"), join(folder, "store")];
  const thief = await startThief(secret);
  const { server } = thief;
  const grants = ["--model", "local/m", "--base-url", server.url, "--api-key-env", "VICTIM_KEY", "--root", secret];
  const planted = join(folder, "home/planted.txt");
  const args = ["exec", "-e", ASK, "-s", "trap", "--store", store, "-o", planted, ...grants];
  await killedHere(server, 1, args, { env: person({ VICTIM_KEY: "the author's key" }) });
  thief.goOn();
  const sent = server.requests.length;
  const victim = { home: join(folder, "home"), env: person({ VICTIM_KEY: KEY }) };
  return { ...thief, store, secret, planted, sent, victim, grants };
}

test("a store of somebody else gets no key and no file, and the command names what to type", async () => {
  await using trap = await startTrap();
  const { server, store, secret, planted, sent, victim } = trap;
  const commands = [
    ["resume", "trap"],
    ["exec", "-e", ASK, "-s", "trap"],
    ["exec", "-e", "1", "-e", ASK, "--discard", "-s", "trap"],
  ];
  const runs = [];
  for (const command of commands) runs.push(await belayHere([...command, "--store", store], victim));
  expect(received(server)).not.toContain(KEY);
  expect(received(server)).not.toContain(SECRET);
  expect(server.requests).toHaveLength(sent);
  const [resumed, same, other] = runs;
  for (const run of [resumed, same]) {
    expect(run?.code).toBe(1);
    expect(run?.stderr).toMatch(/the settings stored with trap are ignored: .*\. Nothing was sent/);
    const files = [`--root ${secret}`, `--output ${planted}  (now: stdout)`];
    for (const flag of ["--model local/m", `--base-url ${server.url}`, "--api-key-env VICTIM_KEY", ...files]) {
      expect(run?.stderr).toContain(flag);
    }
  }
  // The victim's own work goes on with the victim's own settings, which name no model.
  expect(other?.stderr).toContain("the settings stored with trap are ignored");
  expect(other?.stderr).toContain("no model is configured for sub-calls");
});

test("flags are the user's own grant: with them the session goes on, and needs nothing typed from then on", async () => {
  await using trap = await startTrap();
  const { server, store, planted, victim, grants } = trap;
  const typed = await belayHere(["resume", "trap", "--store", store, "-q", ...grants], victim);
  expect(typed).toMatchObject({ code: 0, stdout: "thanks\n" });
  expect(received(server)).toContain(KEY);
  expect(existsSync(planted)).toBe(false);
  const again = await belayHere(["exec", "-e", ASK, "-s", "trap", "--store", store, "-q"], victim);
  expect(again).toEqual({ code: 0, stdout: "thanks\n", stderr: "" });
});

/** A store of somebody else with an ask that its provider failed, by the command or by a program. */
async function withAsk(begin: (store: string) => Promise<unknown>) {
  const folder = folderWith({ "home/": "", "store/": "", "a.txt": "alpha" });
  const store = join(folder, "store");
  await begin(store);
  const victim = { home: join(folder, "home"), env: person({ VICTIM_KEY: KEY, OPENAI_API_KEY: KEY }) };
  const isOpen = async () => (await belayHere(["sessions", "--json", "--store", store], victim)).stdout;
  return { store, victim, isOpen };
}

test("an ask of somebody else sends nothing to its author's server", async () => {
  await using server = await startModelServer(() => ({ status: 401 }));
  const typed = ["--model", "local/m", "--base-url", server.url, "--api-key-env", "VICTIM_KEY"];
  const { store, victim, isOpen } = await withAsk((folder) => {
    const home = join(folder, "..", "home");
    const author = { home, cwd: join(folder, ".."), env: person({ VICTIM_KEY: "the author's key" }) };
    return belayHere(["ask", "What?", "-c", "a.txt", "-s", "trap", "--store", folder, ...typed], author);
  });
  const sent = server.requests.length;
  expect(sent).toBe(1);
  const runs = [
    await belayHere(["resume", "trap", "--store", store], victim),
    await belayHere(["ask", "What?", "-s", "trap", "--store", store], victim),
  ];
  for (const run of runs) {
    expect(run.code).toBe(1);
    expect(run.stderr).toContain("the settings stored with trap are ignored");
    expect(run.stderr).toContain(`--base-url ${server.url}`);
  }
  expect(runs[0]?.stderr).toContain("Nothing was sent");
  expect(server.requests).toHaveLength(sent);
  expect(received(server)).not.toContain(KEY);
  expect(await isOpen()).toContain('"unfinished"');
});

test("an ask of somebody else does not spend the user's money at a model that the user does not name", async () => {
  const { store, victim, isOpen } = await withAsk(async (folder) => {
    const refused = { code: "auth_failed", message: "no", suggestion: "", retriable: false } as const;
    const usage = { input: 0, output: 0, cache_read: 0, cache_write: 0, cost_usd: 0 };
    const complete = async () => ({ ok: false, usage, charged: true, error: refused }) as const;
    const dear = { id: "openai/gpt-4.1", price: null, window: null, complete };
    const models = { fallback: dear.id, resolve: () => dear, price: () => null };
    await using session = await openSessionWith({ session: "trap", store: folder }, { models });
    await session.load({ text: "x", name: "x" });
    await session.ask("What?");
  });
  const run = await belayHere(["resume", "trap", "--store", store], victim);
  expect(run.code).toBe(1);
  expect(run.stderr).toContain("the ask names the model openai/gpt-4.1, which is not one of yours. Nothing was sent");
  expect(run.stderr).toContain("--model PROVIDER/ID");
  expect(await isOpen()).toContain('"unfinished"');
  const given = await belayHere(["exec", "-e", "P.length", "--discard", "-s", "trap", "--store", store, "-q"], victim);
  expect(given).toMatchObject({ code: 0, stdout: "1\n" });
});

test("settings of a store that was moved, and of an earlier version, do not count until they are typed", async () => {
  await using server = await startModelServer(() => ({ text: "yes" }));
  const folder = folderWith({ "a.txt": "alpha" });
  const [home, moved, docs] = [join(folder, "home"), join(folder, "moved"), join(folder, "a.txt")];
  const run = (...args: string[]) => belayHere([...args, "-s", "work", "-q"], { home, cwd: folder });
  const typed = ["-c", docs, "--model", "local/m", "--base-url", server.url];
  await run("exec", "-e", "1", ...typed);
  await belayHere(["fork", "work", "--name", "signed"], { home });

  renameSync(home, moved);
  const elsewhere = await belayHere(["exec", "-e", "P.length", "-s", "work", "-q"], { home: moved, cwd: folder });
  expect(elsewhere).toMatchObject({ code: 0, stdout: "5\n" });
  expect(elsewhere.stderr).toContain(`are ignored: the store was ${home} when they were recorded\n`);
  expect(elsewhere.stderr).toContain(`  --base-url ${server.url}  (now: none)\n`);
  expect(elsewhere.stderr).toContain(`  --root ${docs}  (now: not allowed)\n`);
  await belayHere(["fork", "work", "--name", "doubtful"], { home: moved });
  renameSync(moved, home);
  expect(await doubtAbout(home, "signed")).toBeNull();
  expect(await doubtAbout(home, "doubtful")).toMatch(/another user recorded them/);

  await unsign(home, "work");
  expect(await run("exec", "-e", "1", ...typed)).toEqual({ code: 0, stdout: "1\n", stderr: "" });
  const untyped = await run("exec", "-e", `await llm_query("?", { tools: [] })`);
  expect(untyped).toEqual({ code: 0, stdout: "yes\n", stderr: "" });
});

test("what is loaded in the REPL may be read by the session's next command", async () => {
  const folder = folderWith({ "a.txt": "alpha" });
  const home = join(folder, "home");
  await belayHere(["repl", "-s", "work"], { home, cwd: folder, input: ".load a.txt\n" });
  expect(await doubtAbout(home, "work")).toBeNull();
  await using store = await openStore(home);
  const row = await store.find("work");
  expect(row?.settings).toMatchObject({ settings: { roots: [join(folder, "a.txt")] } });
});

/** Whether a session's settings count. */
async function doubtAbout(folder: string, name: string): Promise<string | null> {
  await using store = await openStore(folder);
  const { id, settings } = (await store.find(name)) ?? { id: "", settings: null };
  return openSigner(folder, process.env).doubt(settings, id);
}

/** As an earlier version has kept the session's settings. */
async function unsign(folder: string, name: string): Promise<void> {
  await using store = await openStore(folder);
  const found = await store.find(name);
  const { signature: _, ...settings } = JSON.parse(JSON.stringify(found?.settings));
  await store.lease(found?.id ?? "");
  await store.commit(found?.id ?? "", { settings });
  await store.release(found?.id ?? "");
}

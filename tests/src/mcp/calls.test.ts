import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { pathToFileURL } from "node:url";
import { expect, test } from "vitest";
import { folderSession } from "../../../src/mcp/session-source.ts";
import { shareStore } from "../../../src/store/index.ts";
import { heldAnswers } from "../../support/held-answers.ts";
import { heldClock } from "../../support/held-clock.ts";
import { lengthAnswers } from "../../support/length-answers.ts";
import { listed } from "../../support/listed.ts";
import { folderWith } from "../../support/tree.ts";
import { ERAS, openPair, type PairOptions, type Project, project } from "./pair.ts";

async function loaded(options: PairOptions, of: Project = project()) {
  const pair = await openPair(of, options);
  await pair.call("rlm_load", { path: of.folder });
  return { ...pair, of };
}

const ASKING = "var before = 1; var said = await llm_query('four'); said";

test("a client that goes away suspends what runs, and the same call is answered by finishing it", async () => {
  const of = await cut();
  const next = await openPair(of, { answers: lengthAnswers() });
  const unfinished = { kind: "cell", input: ASKING };
  expect(await next.call("rlm_status")).toMatchObject({ session: folderSession(of.folder), unfinished, running: null });
  expect(await next.call("rlm_exec", { code: ASKING })).toMatchObject({ success: true, result_json: "4", resumed: 1 });
  expect(await next.call("rlm_status")).toMatchObject({ unfinished: null });
});

/** A project whose cell asked when its client went away. */
async function cut() {
  const held = heldAnswers();
  const { call, close, of } = await loaded({ answers: held.answers });
  void call("rlm_exec", { code: ASKING }).catch(() => {});
  await held.asked();
  expect(await close()).toBe(0);
  return of;
}

test.each([
  ["rlm_wait", {}, { result_json: "4", resumed: 1 }],
  [
    "rlm_exec",
    { code: "said + before" },
    { result_json: "41", warnings: [expect.stringMatching(/^finished: \w{26}$/)] },
  ],
  ["rlm_load", { path: "" }, { error_code: "invalid_argument" }],
  ["rlm_wait", { discard: true }, { success: true, unfinished: null }],
] as const)("%s after a cut call: %j", async (name, args, expected) => {
  const of = await cut();
  const next = await openPair(of, { answers: lengthAnswers() });
  expect(await next.call(name, args)).toMatchObject(expected);
});

test("a load of what is loaded, or one that fails, keeps what was cut; another load, or reset, gives it up and says so", async () => {
  const of = await cut();
  const next = await openPair(of);
  expect(await next.call("rlm_load", { paths: of.folder })).toMatchObject({ error_code: "invalid_argument" });
  const { unfinished } = await next.call("rlm_status");
  expect(unfinished).toMatchObject({ kind: "cell" });
  const kept = await next.call("rlm_load", { path: of.folder });
  expect(kept).toMatchObject({ success: true, already_loaded: true, stats: { document_count: 2 }, unfinished });
  expect(kept).not.toHaveProperty("warnings");
  for (const path of [join(of.folder, "none"), "/etc"]) {
    const failed = await next.call("rlm_load", { path });
    expect(failed).toMatchObject({ success: false, error_code: expect.stringMatching(/^path_/) });
    expect(failed).not.toHaveProperty("warnings");
  }
  expect(await next.call("rlm_status")).toMatchObject({ unfinished });
  const warnings = [expect.stringMatching(/^discarded: /)];
  const other = await next.call("rlm_load", { path: join(of.folder, "a.txt") });
  expect(other).toMatchObject({ success: true, stats: { document_count: 1 }, warnings });
});

test("a load of what is loaded resets nothing and tells what is there, until it is asked to or the files change", async () => {
  const { call, close, of } = await loaded({ tools: "all" });
  await call("rlm_exec", { code: "var n = 1; const seen = []; memory.put('k', 1)" });
  await close();
  const { call: again } = await openPair(of);
  const path = of.folder;
  const kept = { variables: ["n", "seen"], memory_keys: ["k"], unfinished: null };
  const same = { already_loaded: true, stats: { sources: [path] }, ...kept };
  expect(await again("rlm_load", { path: `${path}/` })).toMatchObject(same);
  expect(await again("rlm_exec", { code: "n" })).toMatchObject({ result_json: 1 });
  expect(await again("rlm_load", { path, reset: true })).not.toHaveProperty("already_loaded");
  expect(await again("rlm_exec", { code: "typeof n" })).toMatchObject({ result_json: "undefined" });
  writeFileSync(join(path, "new.txt"), "new\n");
  const anew = await again("rlm_load", { path });
  expect(anew).toMatchObject({ success: true, stats: { document_count: 3 } });
  expect(anew).not.toHaveProperty("already_loaded");
  writeFileSync(join(path, "page.html"), "<p>page</p>");
  await again("rlm_load", { path });
  expect(await again("rlm_load", { path, raw: true })).not.toHaveProperty("already_loaded");
  expect(await again("rlm_load", { path, raw: true })).toMatchObject({ already_loaded: true });
});

test("over files that have changed a cell warns, status tells, and a load names what it would drop and keeps it", async () => {
  const { call, close, of } = await loaded({ tools: "all" });
  const path = of.folder;
  await call("rlm_exec", { code: "var n = 1; memory.put('k', 1); helpers.add('f', 'function f() {}')" });
  expect(await call("rlm_status")).toMatchObject({ context: { changed: null } });
  await close();
  const { call: again } = await openPair(of);
  writeFileSync(join(path, "a.txt"), "another text\n");
  writeFileSync(join(path, "new.txt"), "new\n");
  rmSync(join(path, "more/b.txt"));
  const changed = "3 files differ from what is loaded: a.txt, new.txt, more/b.txt";
  expect(await again("rlm_status")).toMatchObject({ context: { changed } });
  const warnings = [`context_changed: ${changed}; rlm_load_append with its path adds them`];
  expect(await again("rlm_exec", { code: "n" })).toMatchObject({ result_json: 1, warnings });
  const left = { variables: ["n", "f"], memory_keys: ["k"], helpers: ["f"] };
  const suggestion = expect.stringMatching(/^Nothing was reset\. rlm_load_append .* reset: true/);
  expect(await again("rlm_load", { path })).toMatchObject({ already_loaded: true, ...left, changed, suggestion });
  expect(await again("rlm_exec", { code: "n" })).toMatchObject({ result_json: 1, warnings });
  await again("rlm_load_append", { path });
  const gone = "1 file differs from what is loaded: more/b.txt";
  expect(await again("rlm_status")).toMatchObject({ context: { changed: gone } });
  expect(await again("rlm_exec", { code: "n" })).toMatchObject({ result_json: 1 });
  const anew = await again("rlm_load", { path, reset: true });
  expect(anew).toMatchObject({ success: true, stats: { document_count: 2 }, dropped: left });
  expect(anew).not.toHaveProperty("already_loaded");
  const next = await again("rlm_exec", { code: "typeof n" });
  expect(next).toMatchObject({ result_json: "undefined" });
  expect(next.warnings ?? []).toEqual([]);
  expect(await again("rlm_load", { path: join(path, "a.txt") })).not.toHaveProperty("dropped");
});

test.each(ERAS)("%s: a call that the client cancels ends as cancelled, and its variables stay", async (era) => {
  const held = heldAnswers();
  const { call } = await loaded({ answers: held.answers, era });
  const stop = new AbortController();
  const cut = call("rlm_exec", { code: ASKING }, { signal: stop.signal });
  await held.asked();
  stop.abort();
  await expect(cut).rejects.toThrow();
  expect(await call("rlm_exec", { code: "before" })).toMatchObject({ success: true, result_json: 1 });
  expect(await call("rlm_status")).toMatchObject({ unfinished: null, running: null });
});

/** A call that the client has given up while its second question was out. */
async function cancelled() {
  const held = heldAnswers();
  const time = heldClock();
  const pair = await loaded({ answers: held.answers, clock: time.clock });
  const stop = new AbortController();
  const cut = pair.call("rlm_exec", { code: TWICE }, { signal: stop.signal });
  await held.asked();
  held.letGo();
  await held.asked();
  stop.abort();
  await expect(cut).rejects.toThrow();
  await held.stopped();
  return { ...pair, held, time };
}

const TWICE = "var first = await llm_query('one'); var second = await llm_query('three'); first + second";

test("a client that goes away right after it cancelled has left: the call is unfinished, and goes on where it was", async () => {
  const { close, of, held } = await cancelled();
  expect(held.prompts).toEqual(["one", "three"]);
  await close();
  const again = heldAnswers();
  const next = await openPair(of, { answers: again.answers });
  expect(await next.call("rlm_status")).toMatchObject({ unfinished: { kind: "cell", input: TWICE } });
  const answer = next.call("rlm_exec", { code: TWICE });
  expect(await again.asked()).toBe("three");
  again.letGo();
  expect(await answer).toMatchObject({ success: true, result_json: "35", resumed: 1 });
  expect(again.prompts).toEqual(["three"]);
});

test("a cancel is recorded when the client has stayed for a second; the same code again asks what had no answer", async () => {
  const { call, time, held } = await cancelled();
  expect(await call("rlm_status")).toMatchObject({ running: { tool: "rlm_exec" } });
  time.pass();
  expect(await call("rlm_wait")).toMatchObject({ success: false, error_code: "cancelled" });
  expect(await call("rlm_status")).toMatchObject({ running: null, unfinished: null });
  held.letGo();
  const again = call("rlm_exec", { code: TWICE });
  await held.asked();
  held.letGo();
  expect(await again).toMatchObject({ success: true, result_json: "35", resumed: 0 });
  expect(held.prompts).toEqual(["one", "three", "three"]);
});

/** An exec that was answered before it is over, and goes on. */
async function detached() {
  const held = heldAnswers();
  const time = heldClock();
  const pair = await loaded({ answers: held.answers, clock: time.clock, limits: { answerMs: 50_000 } });
  const answer = pair.call("rlm_exec", { code: ASKING });
  await held.asked();
  time.pass();
  return { ...pair, held, time, answer: await answer };
}

test("a call that takes too long is answered, goes on, and rlm_wait has its answer", async () => {
  const { call, held, time, answer } = await detached();
  expect(answer).toMatchObject({ success: true, running: true, suggestion: "call rlm_wait", done: 0 });
  expect(answer).toMatchObject({ exec_id: expect.stringMatching(/^\w{26}$/), elapsed_ms: expect.any(Number) });
  expect(await call("rlm_exec", { code: "1" })).toMatchObject({ success: false, error_code: "exec_running" });
  expect(await call("rlm_status")).toMatchObject({ running: { exec_id: answer.exec_id, tool: "rlm_exec" } });
  expect(await call("rlm_wait", { session: "other" })).toMatchObject({ error_code: "exec_running" });
  const tooSoon = call("rlm_wait");
  await call("rlm_status");
  time.pass();
  expect(await tooSoon).toMatchObject({ running: true, exec_id: answer.exec_id });
  const waited = call("rlm_wait");
  held.letGo();
  expect(await waited).toMatchObject({ success: true, result_json: "4", exec_id: answer.exec_id });
  expect(await call("rlm_wait", { exec_id: answer.exec_id })).toMatchObject({ result_json: "4" });
  expect(await call("rlm_wait", { exec_id: "NONE" })).toMatchObject({ error_code: "invalid_argument" });
});

test("a client that gives up a call which was answered as running ends nothing", async () => {
  const { client, call, held, answer } = await detached();
  // Whatever ids the client gave its requests.
  for (const requestId of Array.from({ length: 20 }, (_, id) => id)) {
    await client.notification({ method: "notifications/cancelled", params: { requestId } });
  }
  expect(await call("rlm_status")).toMatchObject({ running: { exec_id: answer.exec_id } });
  held.letGo();
  expect(await call("rlm_wait", { exec_id: answer.exec_id })).toMatchObject({ success: true, result_json: "4" });
});

test("another process has the answer of an exec that went on after its client left", async () => {
  const { call, held, close, of, answer } = await detached();
  await close();
  held.letGo();
  await expect(call("rlm_wait")).rejects.toThrow();
  const next = await openPair(of, { answers: lengthAnswers() });
  expect(await next.call("rlm_wait", { exec_id: answer.exec_id })).toMatchObject({ result_json: "4", resumed: 1 });
  expect(await next.call("rlm_wait")).toMatchObject({ exec_id: answer.exec_id, result_json: "4" });
});

test("the end of an exec that was answered as running is told once by the next answer", async () => {
  const { call, held, answer } = await detached();
  held.letGo();
  const warnings = [`finished: ${answer.exec_id}`];
  await expect.poll(async () => (await call("rlm_status")).warnings ?? null).toEqual(warnings);
  expect(await call("rlm_status")).not.toHaveProperty("warnings");
  expect(await call("rlm_wait")).toMatchObject({ exec_id: answer.exec_id, result_json: "4" });
});

test("discard ends what goes on behind the answers; a cancelled wait does not", async () => {
  const { call, answer } = await detached();
  const { exec_id } = answer;
  const stop = new AbortController();
  const waiting = call("rlm_wait", {}, { signal: stop.signal });
  stop.abort();
  await expect(waiting).rejects.toThrow();
  expect(await call("rlm_status")).toMatchObject({ running: { exec_id } });
  expect(await call("rlm_wait", { discard: true })).toMatchObject({ running: null, unfinished: null });
  expect(await call("rlm_wait", { exec_id })).toMatchObject({ success: false, error_code: "cancelled" });
});

test("a model reaches the sessions of its folder and no others", async () => {
  const { call, of } = await loaded({ tools: "all" });
  await call("rlm_exec", { code: "var n = 1" });
  expect(await call("rlm_wait", { session: "notes" })).toMatchObject({ session: "notes", context: null });
  expect(await call("rlm_memory_put", { key: "k", value: 1 })).toMatchObject({ success: true });
  const answer = await call("rlm_wait", { session: folderSession(of.folder) });
  expect(answer).toMatchObject({ context: { document_count: 2 }, sessions: [{ session: "notes", status: "idle" }] });
  expect(await call("rlm_exec", { code: "n" })).toMatchObject({ result_json: 1 });
  const elsewhere = await openPair({ ...project(), home: of.home });
  expect(await elsewhere.call("rlm_wait", { session: "notes" })).toMatchObject({ error_code: "policy_violation" });
  expect(await elsewhere.call("rlm_wait", { session: "a/b" })).toMatchObject({ error_code: "invalid_argument" });
});

test("rlm_status only looks: what it once took is refused with the tool that takes it", async () => {
  const { call, of } = await loaded({});
  const session = folderSession(of.folder);
  for (const given of [{ session: "notes" }, { discard: true }]) {
    const [name] = Object.keys(given);
    expect(await call("rlm_status", given)).toMatchObject({
      error_code: "invalid_argument",
      error_message: `rlm_status: it takes no ${name} any more`,
      suggestion: `Call rlm_wait with ${name}.`,
    });
  }
  expect(await call("rlm_wait", { session: "notes", discard: true })).toMatchObject({ error_code: "invalid_argument" });
  expect(await call("rlm_status")).toMatchObject({ session, sessions: [] });
});

test("rlm_status passes over a damaged row and names it", async () => {
  const { call, of } = await loaded({});
  await call("rlm_wait", { session: "notes" });
  await call("rlm_wait", { session: "broken" });
  await call("rlm_wait", { session: folderSession(of.folder) });
  using database = new DatabaseSync(join(of.home, "belay.db"));
  const { id } = database.prepare("UPDATE sessions SET settings = '{}' WHERE name = 'broken' RETURNING id").get() ?? {};
  const rest = "it is passed over, and the user can run belay doctor";
  const warnings = [`session_damaged: the row of session ${id} is damaged: ${rest}`];
  expect(await call("rlm_status")).toMatchObject({ success: true, sessions: [{ session: "notes" }], warnings });
});

test("the name of another folder's session cannot be taken, and one that was taken is refused by name", async () => {
  const { call, of } = await loaded({});
  const other = { ...project(), home: of.home };
  const name = folderSession(other.folder);
  for (const taken of [name, `${name}~2`, "mcp-notes"]) {
    expect(await call("rlm_wait", { session: taken })).toMatchObject({ error_code: "policy_violation" });
  }
  await using store = await shareStore(of.home);
  expect(await store.find(name)).toBeNull();
  // As a server of an earlier build allowed it.
  const planter = await openPair({ ...of, home: other.home }, { source: { named: name } });
  await planter.call("rlm_load", { path: of.folder });
  await planter.close();
  const victim = await openPair(other);
  const refused = await victim.call("rlm_exec", { code: "P" });
  const suggestion = expect.stringContaining(`belay rm ${name}`);
  expect(refused).toMatchObject({ error_code: "policy_violation", suggestion });
  expect(JSON.stringify(refused)).not.toContain(of.folder);
  expect(await victim.call("rlm_wait", { session: "mine" })).toMatchObject({ session: "mine", context: null });
  const named = await openPair(other, { source: { named: name } });
  expect(await named.call("rlm_status")).toMatchObject({ session: name });
});

test("a session that records no folder opens for the folder of its name", async () => {
  const of = project();
  const first = await openPair(of, { source: { madeFor: () => null } });
  await first.call("rlm_load", { path: of.folder });
  await first.close();
  const next = await openPair(of, { source: { madeFor: () => null } });
  expect(await next.call("rlm_status")).toMatchObject({ context: { document_count: 2 } });
});

test("calls that come while the session changes find the next one, and no other is made", async () => {
  const { call, of } = await loaded({ tools: "all" });
  const [gone, put] = await Promise.all([
    call("rlm_wait", { session: "notes" }),
    call("rlm_memory_put", { key: "k", value: 1 }),
  ]);
  expect([gone.session, put.success, put.warnings]).toEqual(["notes", true, undefined]);
  expect(await call("rlm_memory_list")).toMatchObject({ keys: ["k"] });
  await using store = await shareStore(of.home);
  expect((await listed(store)).map(({ name }) => name).sort()).toEqual([folderSession(of.folder), "notes"]);
});

test("a store that fails is told by each call, and the next one tries again", async () => {
  const of = project();
  let isBroken = true;
  const openStore = async () => {
    if (isBroken) throw new Error("no disk");
    return shareStore(of.home);
  };
  const { call } = await openPair(of, { source: { openStore } });
  expect(await call("rlm_load", { path: of.folder })).toMatchObject({ success: false, error_message: "no disk" });
  isBroken = false;
  expect(await call("rlm_load", { path: of.folder })).toMatchObject({ success: true });
});

test.each([["/"], ["the home folder"]])("a working folder that is %s is not a root", async (where) => {
  const of = project();
  const cwd = where === "/" ? "/" : of.folder;
  const { call } = await openPair(of, { source: { cwd, home: of.folder } });
  const suggestion = expect.stringContaining("--root DIR");
  expect(await call("rlm_load", { path: of.folder })).toMatchObject({ error_code: "path_outside_sandbox", suggestion });
});

test.each([
  ["has none open", async () => ({ roots: [] })],
  ["cannot tell", () => Promise.reject(new Error("no folders here"))],
])("a client that %s has the working folder read", async (_what, answer) => {
  const of = project();
  const { call } = await openPair(of, {
    client: { capabilities: { roots: {} } },
    before: (client) => client.setRequestHandler("roots/list", answer),
  });
  expect(await call("rlm_load", { path: of.folder })).toMatchObject({ success: true });
  expect(await call("rlm_status")).toMatchObject({ session: folderSession(of.folder), roots: [of.folder] });
});

test("a client's roots are read, and asked for again when they change", async () => {
  const of = project();
  const [one, two] = [folderWith({ "x.txt": "x" }), folderWith({ "y.txt": "y" })];
  let roots = [one];
  const { client, call } = await openPair(of, {
    client: { capabilities: { roots: { listChanged: true } } },
    before(client) {
      client.setRequestHandler("roots/list", async () => ({
        roots: roots.map((root) => ({ uri: pathToFileURL(root).href })),
      }));
    },
  });
  // The working folder of the server has no such file.
  const stats = { sources: [join(one, "x.txt")] };
  expect(await call("rlm_load", { path: "x.txt" })).toMatchObject({ success: true, stats });
  expect(await call("rlm_status")).toMatchObject({ session: folderSession(one), roots: [one] });
  expect(await call("rlm_load", { path: two })).toMatchObject({ error_code: "path_outside_sandbox" });
  roots = [two];
  await client.sendRootsListChanged();
  expect(await call("rlm_load", { path: two })).toMatchObject({ success: true });
  expect(await call("rlm_load", { path: one })).toMatchObject({ error_code: "path_outside_sandbox" });
  expect(await call("rlm_status")).toMatchObject({ session: folderSession(one), roots: [two] });
});

test("the resources have the session and whole answers", async () => {
  const { client, call } = await loaded({ limits: { answerBytes: 4_000 } });
  const { exec_id, warnings } = await call("rlm_exec", { code: "'x'.repeat(50000)" });
  expect(warnings).toEqual([expect.stringContaining(`belay://exec/${exec_id}`)]);
  const { resources } = await client.listResources();
  const { resourceTemplates } = await client.listResourceTemplates();
  expect([resources.map(({ uri }) => uri), resourceTemplates.map(({ uriTemplate }) => uriTemplate)]).toEqual([
    ["belay://session"],
    ["belay://exec/{exec_id}"],
  ]);
  const read = async (uri: string) => {
    const [first] = (await client.readResource({ uri })).contents;
    return JSON.parse(first && "text" in first ? String(first.text) : "null");
  };
  expect((await read(`belay://exec/${exec_id}`)).result_json).toHaveLength(50_000);
  expect(await read("belay://session")).toMatchObject({ execs: [{ exec_id, kind: "cell" }, { kind: "load" }] });
  await expect(client.readResource({ uri: "belay://exec/NONE" })).rejects.toThrow("there is no exec NONE");
});

test.each(ERAS)("%s: an answer fits the client by its name, and rlm_wait has it in pages", async (era) => {
  const { call } = await loaded({ era, name: "codex-mcp-client", limits: { answerBytes: null } });
  const whole = "x".repeat(30_000);
  const told = await call("rlm_exec", { code: `'x'.repeat(${whole.length})` });
  expect(JSON.stringify(told).length).toBeLessThanOrEqual(10_000);
  expect(told.warnings).toEqual([expect.stringContaining("rlm_wait with from: 0 has it whole")]);
  let text = "";
  for (let from: unknown = 0; from !== null; ) {
    const page = await call("rlm_wait", { exec_id: told.exec_id, from });
    text += page.text;
    from = page.to === page.of ? null : page.to;
  }
  expect(JSON.parse(text)).toMatchObject({ exec_id: told.exec_id, result_json: whole });
});

test("what a client fills in for what it leaves out is left out, and a wrong choice is told what there is", async () => {
  const { call } = await loaded({});
  expect(await call("rlm_query", { prompt: "What?", search_strategy: "" })).toMatchObject({ success: true });
  expect(await call("rlm_exec", { code: "1", limits_override: null })).toMatchObject({ result_json: 1 });
  expect(await call("rlm_query", { prompt: "What?", search_strategy: "best", max_sections: null })).toMatchObject({
    error_code: "invalid_argument",
    error_message: expect.stringMatching(/search_strategy must be one of \["regex","bm25",/),
  });
});

test("progress has a token, counts up and says what goes on; without a token there is none", async () => {
  const held = heldAnswers();
  const { clock, pass } = heldClock();
  const { call, told: sent } = await loaded({ answers: held.answers, clock });
  const untold = call("rlm_exec", { code: ASKING });
  await held.asked();
  pass();
  await call("rlm_status");
  held.letGo();
  expect([await untold, sent]).toMatchObject([{ success: true }, []]);
  const told: { progress: number; message?: string | undefined }[] = [];
  const running = call("rlm_exec", { code: ASKING }, { onprogress: (progress) => void told.push(progress) });
  await held.asked();
  pass();
  pass();
  await expect.poll(() => told.length).toBe(2);
  held.letGo();
  expect(await running).toMatchObject({ success: true });
  expect(sent).toEqual(["notifications/progress", "notifications/progress"]);
  expect(told).toEqual([1, 2].map((progress) => ({ progress, message: expect.stringMatching(/^rlm_exec runs, /) })));
});

test("projects with equal files each name their own, though they have one store", async () => {
  const first = project();
  const second = { ...project(), home: first.home };
  for (const place of [first, second]) await (await loaded({}, place)).close();
  for (const place of [first, second]) {
    const { call } = await openPair(place);
    expect(await call("rlm_status")).toMatchObject({ context: { sources: [place.folder] } });
    const paths = { result_json: ["a.txt", "more/b.txt"].map((name) => join(place.folder, name)) };
    expect(await call("rlm_exec", { code: "list_docs().map(({ path }) => path)" })).toMatchObject(paths);
  }
});

test.each(ERAS)("a client's key of a call gives the same answer again (%s)", async (era) => {
  const of = project();
  const { client, call } = await loaded({ answers: lengthAnswers(), era }, of);
  const code = "var n = (globalThis.n ?? 0) + 1; [n, await llm_query('four')]";
  const keyed = async (given: string, key: unknown) => {
    const asked = { name: "rlm_exec", arguments: { code: given }, _meta: { "belay/idempotencyKey": key } };
    const [block] = (await client.callTool(asked)).content;
    return JSON.parse(block?.type === "text" ? block.text : "");
  };
  expect(await keyed(code, "run/1/0")).toMatchObject({ result_json: [1, "4"] });
  expect(await keyed(code, "run/1/0")).toMatchObject({ result_json: [1, "4"] });
  expect(await keyed("1", "run/1/0")).toMatchObject({ error_code: "invalid_argument" });
  expect(await keyed("1", 7)).toMatchObject({ error_code: "invalid_argument" });
  expect(await call("rlm_exec", { code })).toMatchObject({ result_json: [2, "4"] });
});

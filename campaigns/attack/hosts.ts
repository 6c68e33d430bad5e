import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout } from "node:timers/promises";
import { openMachineHere } from "../../tests/support/machine-here.ts";
import { seededRandom } from "../../tests/support/seeded-random.ts";
import { adapted } from "./adapter.ts";
import type { SetUp } from "./attack.ts";
import { CASES } from "./cases.ts";
import { KEY_VARIABLE } from "./stage.ts";

/** Attacks on the host by an engine that somebody took over, by its death, and by all cells one after the other. */
export const HOSTS: Readonly<Record<string, SetUp>> = {
  async "ESC-13"(stage) {
    const machineEntry = new URL("./broken-thread-entry.ts", import.meta.url);
    for (const seed of [1, 2, 3, 4, 5]) {
      const session = await stage.open({}, { machineEntry });
      await stage.exec(session, "globalThis.kept = 7");
      const done = await stage.exec(session, `overwrite(${seed}); for (;;) Array.from({ length: 100 }, () => ({}))`);
      assert.equal(done.success, false);
      assert.equal((await stage.exec(session, "kept")).result_json, 7);
    }
    await forgePosts(stage.bounds.times);
  },
  async "ESC-14"(stage) {
    await forgeCalls();
    const machineEntry = new URL("./taken-thread-entry.ts", import.meta.url);
    const server = await stage.model(() => ({ text: "ok" }));
    const session = await stage.open({ budget: { max_sub_calls: 9 }, maxDepth: 0 }, { machineEntry });
    const codes = async (calls: string) =>
      (await stage.exec(session, `(await Promise.allSettled(${calls})).map(({ reason }) => reason?.code)`)).result_json;
    const forged = `[["evil", ["q"]], ["constructor", ["q"]], ["llm_query", ["q", { context: "text" }]], ["rlm_query", ["q"]]]`;
    assert.deepEqual(await codes(`${forged}.map((call) => taken(...call))`), Array(4).fill("policy_violation"));
    // Each of these has counted as one.
    const turns = "for (let i = 0; i < 8; i++) await taken('llm_query', ['q' + i, { tools: [] }]).catch(() => {})";
    await stage.exec(session, turns);
    assert.equal(server.requests.length, 5);
    const many = "Array.from({ length: 400 }, (_, i) => taken('llm_query', ['r' + i, { tools: [] }]))";
    assert.deepEqual(await codes(many), Array(400).fill("budget_exceeded"));
    assert.equal(server.requests.length, 5);
  },
  async "LIF-04"(stage) {
    const server = await stage.model(() => ({ delayMs: 200 }));
    const source = new URL("../../src/index.ts", import.meta.url).href;
    const script = `const { openSession } = await import(${JSON.stringify(source)});
      const session = await openSession(${JSON.stringify({ model: "local/attack", baseUrl: server.url, apiKeyEnv: KEY_VARIABLE })});
      await session.exec('await llm_query_batch(Array.from({ length: 40 }, (_, n) => "q" + n), { tools: [] })');`;
    const child = spawn(process.execPath, ["--input-type=module", "-e", script], { detached: true, stdio: "ignore" });
    while (server.requests.length < 8) await setTimeout(20);
    child.kill("SIGKILL");
    await once(child, "exit");
    const sent = server.requests.length;
    await setTimeout(2000);
    assert.equal(server.requests.length, sent, "calls were made after the death of the process");
    assert.throws(() => process.kill(-Number(child.pid), 0), /ESRCH/, "a process of its group is left");
  },
  async "LIF-07"(stage) {
    const session = await stage.open();
    await stage.load(session, { text: "first line\n", name: "notes.txt" });
    await stage.exec(session, "globalThis.sentinel = { n: 42 }");
    const limits = { max_execution_ms: 300 };
    const guests = CASES.filter(({ kind, class: of }) => kind === "guest" && of !== "budget");
    for (const { id, code = "" } of guests) {
      const done = await stage.exec(session, adapted(code), { limits });
      const after = await stage.exec(session, "sentinel.n");
      const isTold = [...done.warnings, ...after.warnings].some((warning) => warning.startsWith("state_restored"));
      assert.ok(after.result_json === 42 || isTold, `after ${id}: ${JSON.stringify(after).slice(0, 300)}`);
    }
  },
};

const KINDS = ["sync", "site", "call", "print", "unprinted", "room", "part", "done", "text", "bytes", "", "__proto__"];
const NAMES = [
  "peek",
  "find",
  "llm_query",
  "memory",
  "constructor",
  "__proto__",
  "toString",
  "__defineGetter__",
  "P",
  "",
];
const PAYLOADS = [
  "",
  "[]",
  "[1,2]",
  "{}",
  "null",
  '{"__proto__":{"polluted":1}}',
  "[".repeat(1e4),
  "-1",
  "1e999",
  "\0\uD800",
];

/** Calls under names that the host does not have, and a result of 1 GB in parts. */
async function forgeCalls(): Promise<void> {
  using here = await openMachineHere();
  const { host } = here;
  for (const name of ["evil", "", ".", "constructor", "toString.x", "__proto__.llm_query", "x".repeat(1e6)]) {
    const answer = String(host.post("call", name, '["q", { "tools": [] }]'));
    assert.ok(answer.startsWith("e") && answer.length < 1000, `${name.slice(0, 20)}: ${answer.slice(0, 100)}`);
  }
  const part = "x".repeat(2 ** 20);
  const parts = Array.from({ length: 1024 }, () => host.post("part", "", part));
  assert.match(String(parts.at(-1)), /^e.*machine_lost/);
}

/** A guest that was taken over posts what it likes: each post is answered, with an error if it makes no sense. */
async function forgePosts(times: number): Promise<void> {
  const random = seededRandom(13);
  const any = (all: readonly string[]) => all[Math.floor(random() * all.length)] ?? "";
  using here = await openMachineHere();
  const { host } = here;
  for (let n = 0; n < 10 * times; n++) {
    const answer = host.post(any(KINDS), any(NAMES), any(PAYLOADS));
    assert.ok(typeof answer === "string" || "bytes" in answer);
  }
  assert.equal(Reflect.get({}, "polluted"), undefined);
}

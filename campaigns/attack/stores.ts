import assert from "node:assert/strict";
import { chmodSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { openStore, RlmError, type Session } from "../../src/index.ts";
import type { SetUp } from "./attack.ts";
import { CANARY, type Stage } from "./stage.ts";

/** Attacks on what is stored, and on sessions as a whole. */
export const STORES: Readonly<Record<string, SetUp>> = {
  async "SNP-05"(stage) {
    const store = await withSessions(stage, ["A", "B"]);
    edit(
      store,
      `UPDATE checkpoints SET session = (SELECT id FROM sessions WHERE name = 'B')
      WHERE id = (SELECT head FROM sessions WHERE name = 'A');
      UPDATE sessions SET head = (SELECT head FROM sessions AS other WHERE other.name = 'A') WHERE name = 'B'`,
    );
    await refused(stage, store, "B");
  },
  async "SNP-06"(stage) {
    const store = join(stage.folder, "store");
    const ids = ["../../etc/x", "a/b", "..", "", "a\0", "x".repeat(300), "-rf"];
    for (const session of ids) {
      const error = await stage.attempt(() => stage.open({ store, session }));
      assert.ok(error instanceof RlmError && error.code === "invalid_argument", `${JSON.stringify(session)}: ${error}`);
    }
    assert.deepEqual(
      readdirSync(stage.folder).filter((name) => name !== "store"),
      [],
    );
  },
  async "SNP-15"(stage) {
    const store = join(stage.folder, "store");
    const ends = ["const all = []; for (;;) all.push(new Array(1e5).fill(0))", "for (;;) {}", "Array(1e9).join('x')"];
    for (const [n, end] of ends.entries()) {
      const session = await stage.open({ store, session: `s${n}` });
      await stage.exec(session, "globalThis.kept = 7");
      const done = await stage.exec(session, end, { limits: { max_execution_ms: stage.bounds.limitMs } });
      assert.equal(done.success, false);
      await session.close();
      const again = await stage.open({ store, session: `s${n}` });
      assert.equal((await stage.exec(again, "kept")).result_json, 7);
    }
  },
  async "SNP-16"(stage) {
    const others = join(stage.folder, "others");
    mkdirSync(others);
    chmodSync(others, 0o777);
    const linked = join(stage.folder, "linked");
    mkdirSync(linked);
    symlinkSync(join(stage.folder, "elsewhere.db"), join(linked, "belay.db"));
    for (const store of [others, linked]) {
      const error = await stage.attempt(() => stage.open({ store, session: "s" }));
      assert.ok(error instanceof RlmError && error.code === "store_failed", `${store}: ${error}`);
    }
    assert.deepEqual(readdirSync(others), []);
  },
  async "SNP-17"(stage) {
    await stage.model(() => ({ text: "ok" }));
    const store = join(stage.folder, "store");
    const session = await stage.open({ store, session: "s" });
    await stage.exec(session, 'globalThis.answer = await llm_query("q", { tools: [] })');
    await session.close();
    for (const name of readdirSync(store, { recursive: true, encoding: "utf8" }).filter((one) => one.includes("belay")))
      assert.ok(!readFileSync(join(store, name)).includes(CANARY), `${name} has the key in it`);
  },
  async "JRN-03"(stage) {
    const store = await withSessions(stage, ["A"]);
    edit(
      store,
      `INSERT INTO journal SELECT session, seq + 1000, kind, content, sha256 FROM journal;
      UPDATE sessions SET last_seq = last_seq + 1000`,
    );
    await refused(stage, store, "A");
  },
  async "JRN-04"(stage) {
    const store = await withSessions(stage, ["A"]);
    edit(
      store,
      "UPDATE journal SET seq = -seq; UPDATE journal SET seq = 3 WHERE seq = -2; UPDATE journal SET seq = 2 WHERE seq = -3; UPDATE journal SET seq = -seq WHERE seq < 0",
    );
    await refused(stage, store, "A");
  },
  async "JRN-06"(stage) {
    for (const [n, sql] of [
      "DELETE FROM journal WHERE seq = 1",
      "DELETE FROM journal WHERE seq = (SELECT max(seq) FROM journal)",
      "UPDATE journal SET kind = 'rlm_complete' WHERE seq = 1",
    ].entries()) {
      const store = await withSessions(stage, ["A"], `store${n}`);
      edit(store, sql);
      await refused(stage, store, "A");
    }
  },
  async "JRN-08"(stage) {
    const texts = {
      long: `json_object('record', 'rlm_start', 'code', hex(zeroblob(50000000)))`,
      deep: `'{"record":"rlm_start","code":' || replace(hex(zeroblob(100000)), '00', '[') || replace(hex(zeroblob(100000)), '00', ']') || '}'`,
      odd: `'{"record":"rlm_start","__proto__":{"polluted":1},"code":"a","code":"\u2028\\ud800"}'`,
    };
    for (const [name, content] of Object.entries(texts)) {
      const store = await withSessions(stage, ["A"], name);
      edit(store, `UPDATE journal SET content = ${content} WHERE seq = 1`);
      await refused(stage, store, "A");
      assert.equal(Reflect.get({}, "polluted"), undefined);
    }
  },
  async "JRN-11"(stage) {
    await stage.model(() => ({ text: "ok" }));
    const store = join(stage.folder, "store");
    const cell = `globalThis.seen = [Math.random(), Math.random()].join();
      await llm_query("q", { tools: [] }); result = [seen, Math.random()]`;
    const first = await stage.open({ store, session: "s" });
    const stop = new AbortController();
    stop.abort();
    await stage.exec(first, cell, { suspend: stop.signal });
    await first.close();
    const second = await stage.open({ store, session: "s" });
    const resumed = await stage.attempt(() => second.resume());
    const { envelope } = Object(resumed);
    assert.equal(envelope.success, true);
    assert.equal(await resultOf(stage, second, "seen"), envelope.result_json[0]);
  },
  async "JRN-13"(stage) {
    const store = await withSessions(stage, ["A"]);
    const held = await stage.open({ store, session: "A" });
    const error = await stage.attempt(() => stage.open({ store, session: "A" }));
    assert.ok(error instanceof RlmError && error.code === "session_busy", String(error));
    assert.equal(await resultOf(stage, held, "kept"), "A");
  },
  async "LIF-05"(stage) {
    for (let round = 0; round < 2; round++)
      for (let n = 0; n < 50; n++) {
        const session = await stage.open();
        assert.equal(await resultOf(stage, session, "1 + 1"), 2);
        await session.close();
      }
    const handles = process.getActiveResourcesInfo().filter((name) => name !== "MessagePort").length;
    assert.ok(handles < 20, `${handles} handles are left`);
  },
  async "LIF-06"(stage) {
    const one = await stage.open();
    await stage.load(one, { text: "text of one", name: "one.txt" });
    await stage.exec(one, "globalThis.mine = 1; memory.put('mine', 1); Array.prototype.map = () => 'patched'");
    const other = await stage.open();
    await stage.load(other, { text: "text of the other", name: "other.txt" });
    const code = "[typeof mine, memory.list(), [1].map((n) => n), P, list_docs().length]";
    assert.deepEqual(await resultOf(stage, other, code), ["undefined", [], [1], "text of the other", 1]);
  },
};

/** A store with sessions of these names, each with a cell and a context; closed. */
async function withSessions(stage: Stage, names: readonly string[], folder = "store"): Promise<string> {
  const store = join(stage.folder, folder);
  for (const session of names) {
    const opened = await stage.open({ store, session });
    await stage.load(opened, { text: "text", name: "text.txt" });
    await stage.exec(opened, `globalThis.kept = ${JSON.stringify(session)}`);
    await opened.close();
  }
  return store;
}

/** Changes the database by another hand than Belay's. */
function edit(store: string, sql: string): void {
  using database = new DatabaseSync(join(store, "belay.db"));
  database.exec(`PRAGMA foreign_keys = OFF; ${sql}`);
}

/** The session is refused by name, and the store still lists what is whole. */
async function refused(stage: Stage, store: string, session: string): Promise<void> {
  const error = await stage.attempt(() => stage.open({ store, session }));
  const codes = ["store_corrupt", "checkpoint_lost"];
  assert.ok(error instanceof RlmError && codes.includes(error.code), `not refused: ${error}`);
  await using opened = await openStore(store);
  await stage.attempt(() => opened.list());
}

async function resultOf(stage: Stage, session: Session, code: string): Promise<unknown> {
  return (await stage.exec(session, code)).result_json;
}

import { createHmac } from "node:crypto";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test } from "vitest";
import { systemClock } from "../../../runtime/index.ts";
import type { BatchAccount } from "../../../src/models/index.ts";
import { collect } from "../../../src/provider-batches/collector.ts";
import { proofOfRequest } from "../../../src/provider-batches/proof.ts";
import type { BatchClient } from "../../../src/provider-batches/providers/provider.ts";
import { type NewBatchRequest, type Store, shareStore } from "../../../src/store/index.ts";
import { BATCH_COLUMNS } from "../../../src/store/rows/batch.ts";
import { seal } from "../../../src/store/rows/row.ts";
import { folderWith } from "../../support/tree.ts";

// A row grants nothing: whoever can write to a store, and makes its seals anew, gets nothing sent that was not asked for with the key.

const ACCOUNT = "openai-completions http://p/v1 00000000";
const NO_LIMITS = { nanodollars: null, tokens: null, sub_calls: null };
const RUN = {
  queue: "q",
  share: 1,
  spec: {},
  hash: "h",
  limits: NO_LIMITS,
  files: { script: "s".repeat(64), table: null },
};
const DEAR = '{"model":"dear","max_tokens":1000000,"messages":[]}';
/** SQL by the column in which a row is forged. */
type Cases = Readonly<Record<string, readonly string[]>>;

const REQUESTS: Cases = {
  ...{ session: ["'X'"], call: ["'X'"], k: ["7"], root: ["'SB'"], run: ["NULL", "'X'"], account: ["'another'"] },
  ...{ model: ["'p/dear'"], state: ["'out'", "'unwanted'", "'answered'"], at: ["0"], bytes: ["0"], tries: ["-5"] },
  ...{ ready_at: ["-1e9"], most: ["1000000"], provider_batch: ["'X'"], n: ["-1"], status: ["200"], answer: ["'{}'"] },
  body: [
    `'${DEAR}'`,
    `'{"model":"m","messages":[]}}' || char(10) || '{"custom_id":"evil","method":"POST","body":${DEAR}'`,
    '\'{"model":"m"\'',
    "replace(hex(zeroblob(2000)), '00', '[')",
  ],
  ...{ body_sum: ["x'00'"], sha256: ["x'00'"], proof: ["'x'", "NULL", "lower(hex(zeroblob(32)))"] },
};

const BATCHES: Cases = {
  ...{ id: ["'X'"], account: ["'another'"], model: ["'p/dear'"], requests: ["0"], state: ["'closed'", "'doubt'"] },
  file: ["'../models/ft:acme'", "'file-of-another'", "NULL"],
  batch: ["'../fine_tuning/jobs/1'", "'batch-of-another'", "'..'", "NULL"],
  ...{ closed_at: ["0"], asked_at: ["NULL", "0"], made_at: ["NULL"], cancelled: ["1"], over_at: ["0"], look_at: ["0"] },
  ...{ done: ["-5"], sha256: ["x'00'"], proof: ["'x'", "NULL"] },
};

const ANSWERS: Cases = {
  ...{ asked: ["'b'"], run: ["'a'"], n: ["5"], k: ["-1"], origin_run: ["'X'"], origin_n: ["9"], origin_k: ["9"] },
  ...{ model: ["'p/dear'"], usd: ["-1000000000000"], tokens: ["-1000000"], at: ["1e300"], sha256: ["x'00'"] },
  ...{ value: ["'{'", "'\"other\"'"], mended: ["'{'", "'[1]'", "'[\"a draft\"]'"] },
};

/** A store in a folder, whose rows another hand changes. */
async function forgedStore() {
  const folder = folderWith();
  const store = await shareStore(folder);
  onTestFinished(() => store[Symbol.asyncDispose]());
  await store.jobs.open({ ...RUN, id: "R", name: "r" });
  const jobs = ["A", "B"].map((id) => ({ id, session: `S${id}`, input: "1", context: null }));
  await store.jobs.add("R", jobs);
  for (const n of [0, 1]) {
    await store.jobs.begin({ run: "R", n }, { ticket: "t", fence: 0, engine: null, lapses: 0, answers: 0 });
    await store.jobs.put({ run: "R", n }, 0, { state: "parked", why: "delivery", afterMs: 0, counts: false });
  }
  const database = new DatabaseSync(join(folder, "belay.db"));
  onTestFinished(() => database.close());
  /** Sets a column of the row for which this holds, and makes the seals anew unless it is one. */
  function forge(table: "batch_requests" | "provider_batches" | "answers", column: string, value: string): void {
    database.exec(`UPDATE ${table} SET ${column} = ${value} WHERE rowid = 1`.replace("rowid = 1", WHICH[table]));
    if (column === "body") {
      const { body } = database.prepare("SELECT body FROM batch_requests WHERE call = 'A'").get() ?? {};
      database.prepare("UPDATE batch_requests SET body_sum = ? WHERE call = 'A'").run(seal([String(body)]));
    }
    if (column === "sha256") return;
    for (const row of database.prepare(`SELECT * FROM ${table}`).all()) {
      const sealed = SEALED[table].map((name) => row[name] ?? null);
      const isAnswered = table === "batch_requests" && row.state === "answered";
      const all = isAnswered ? [...sealed, row.status ?? null, row.answer ?? null] : sealed;
      database.prepare(`UPDATE ${table} SET sha256 = ? WHERE sha256 = ?`).run(seal(all), row.sha256 ?? null);
    }
  }
  const columns = (table: string) =>
    database
      .prepare("SELECT name FROM pragma_table_info(?)")
      .all(table)
      .map(({ name }) => String(name));
  return { store, forge, columns, exec: (text: string) => database.exec(text) };
}

const WHICH = { batch_requests: "call = 'A'", provider_batches: "state <> 'over'", answers: "run = 'R'" };
const SEALED = {
  batch_requests: ["session", "call", "k", "root", "run", "account", "model", "body_sum", "proof"],
  provider_batches: BATCH_COLUMNS.filter((column) => column !== "look_at" && column !== "done"),
  answers: ["asked", "run", "n", "k", "origin_run", "origin_n", "origin_k", "model", "usd", "tokens", "at", "value"],
};

const accountOf = async (model: string): Promise<BatchAccount> => ({
  ...{ id: ACCOUNT, api: "openai-completions", baseUrl: "http://p/v1", model: model.replace("p/", ""), headers: {} },
  prove: (fields) => createHmac("sha256", "the key").update(JSON.stringify(fields)).digest("hex"),
});

const honest = (call: string): Omit<NewBatchRequest, "proof" | "account"> => ({
  ...{ session: `S${call}`, call, k: 0, root: `S${call}`, run: "R", model: "p/m" },
  body: { model: "m", messages: [call] },
});

async function keepHonest({ batches }: Store): Promise<void> {
  const account = await accountOf("p/m");
  for (const asked of ["A", "B"].map(honest)) {
    const proof = proofOfRequest(account, asked, JSON.stringify(asked.body));
    await batches.keep({ ...asked, account: account.id, proof });
  }
}

/** A provider that notes what it is sent, and the names that it is asked for. */
function provider() {
  const [sent, named] = [[] as string[], [] as string[]];
  let made = 0;
  const clientOf = ({ model }: BatchAccount): BatchClient => ({
    async upload(_, rows) {
      for await (const page of rows) sent.push(...page.map(({ body }) => `${model} ${body}`));
      return `file-${++made}`;
    },
    async create({ file, asking }) {
      named.push(file ?? "");
      return (await asking()) ? `batch-${++made}` : "not sent";
    },
    find: async () => ({ kind: "none" }),
    async fence(file) {
      named.push(file);
    },
    async look(batch) {
      named.push(batch);
      return { state: "out", done: null };
    },
    results: async () => null,
    async cancel(batch) {
      named.push(batch);
    },
  });
  return { clientOf, sent, named };
}

/** Three processes, each of which does what is to be done now. */
async function collectThrice({ batches }: Store, clientOf: (account: BatchAccount) => BatchClient): Promise<void> {
  for (let life = 0; life < 3; life++) {
    const over = new AbortController();
    const told = { hindered() {}, failing() {}, answered() {}, looked: () => over.abort() };
    const own = { clock: systemClock, pace: 0.02, random: Math.random, resendsDoubtful: true, ...told };
    const damaged = (error: unknown) => expect(error).toMatchObject({ code: "store_corrupt" });
    await collect({ batches, accountOf, clientOf, ...own }, over.signal).catch(damaged);
  }
}

test("a forged request gets nothing sent: each column has a case", async () => {
  const { store, forge, columns, exec } = await forgedStore();
  expect(Object.keys(REQUESTS).toSorted()).toEqual(columns("batch_requests").toSorted());
  const asked = ["A", "B"].map((call) => `m ${JSON.stringify(honest(call).body)}`);
  for (const [column, values] of [["none", [""]] as const, ...Object.entries(REQUESTS)]) {
    for (const value of values) {
      exec("DELETE FROM batch_requests; DELETE FROM provider_batches");
      await keepHonest(store);
      exec("UPDATE batch_requests SET at = 0");
      if (column !== "none") forge("batch_requests", column, value);
      const { clientOf, sent } = provider();
      await collectThrice(store, clientOf);
      const others = sent.filter((one) => !asked.includes(one));
      expect({ column, value, others, twice: sent.length - new Set(sent).size }).toMatchObject({
        others: [],
        twice: 0,
      });
      if (column === "none") expect(sent.toSorted()).toEqual(asked);
      // A request that cannot be read is named, and holds those up that are in its batch.
      const goesOn = ["model", "body", "proof", "session", "root"].includes(column) && !value.includes("2000");
      if (goesOn) expect({ column, value, sent }).toEqual({ column, value, sent: [asked[1]] });
    }
  }
});

test("a forged batch has no name asked for that the provider did not give: each column has a case", async () => {
  const { store, forge, columns, exec } = await forgedStore();
  expect(Object.keys(BATCHES).toSorted()).toEqual(columns("provider_batches").toSorted());
  for (const [column, values] of [["none", [""]] as const, ...Object.entries(BATCHES)]) {
    for (const value of values) {
      exec("DELETE FROM batch_requests; DELETE FROM provider_batches");
      await keepHonest(store);
      exec("UPDATE batch_requests SET at = 0");
      const first = provider();
      await collectThrice(store, first.clientOf);
      // How often it is looked at is a matter of time.
      expect([...new Set(first.named)]).toEqual(["file-1", "batch-2"]);
      if (column !== "none") forge("provider_batches", column, value);
      await store.batches.giveUp({ run: "R" }, "all");
      const { clientOf, sent, named } = provider();
      await collectThrice(store, clientOf);
      const others = named.filter((name) => name !== "file-1" && name !== "batch-2");
      expect({ column, value, others, sent }).toEqual({ column, value, others: [], sent: [] });
      if (column === "none") expect(named).toContain("batch-2");
    }
  }
});

test("a forged answer of an earlier run changes no money of the run that takes it: each column has a case", async () => {
  const { store, forge, columns, exec } = await forgedStore();
  expect(Object.keys(ANSWERS).toSorted()).toEqual(columns("answers").toSorted());
  const lease = await store.create({ id: "S", name: null, origin: "library", settings: null, at: 1 });
  await store.jobs.open({ ...RUN, id: "N", name: "n" });
  await store.jobs.add("N", [{ id: "A", session: "SN", input: "1", context: null }]);
  const answer = { run: "R", n: 0, k: 0, asked: "a", value: "yes", model: "p/m", tokens: 1, nanodollars: 2, at: 3 };
  const before = await store.jobs.run("N");
  for (const [column, values] of [["none", [""]] as const, ...Object.entries(ANSWERS)]) {
    for (const value of values) {
      exec("DELETE FROM answers");
      await store.commit(lease.id, { answers: [answer] });
      if (column !== "none") forge("answers", column, value);
      const taken = await store.jobs.reuse({ run: "N", n: 0, k: 0, asked: "a", ownOnly: false });
      if (column === "none") expect(taken).toMatchObject({ value: "yes", nanodollars: 2 });
      const figures = taken ? [taken.tokens, taken.nanodollars].filter((one) => one < 0) : [];
      expect({ column, value, figures, run: await store.jobs.run("N") }).toEqual({
        column,
        value,
        figures: [],
        run: before,
      });
    }
  }
});

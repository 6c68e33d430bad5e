import { expect, test } from "vitest";
import { openPgBoss } from "../../../src/runs/index.ts";
import { SCHEMA_VERSION } from "../../../src/store/postgres/schema.ts";
import { freshStoreUrl, NO_POSTGRES } from "../../support/postgres/server.ts";
import { askServer } from "../../support/postgres/sql.ts";
import { folderWith } from "../../support/tree.ts";
import { belayHere } from "./in-process.ts";
import { NO_SERVER } from "./no-server.ts";

type Check = { readonly name: string; readonly state: string; readonly detail: string; readonly cure?: string };

async function doctor(url: string) {
  const { code, stdout } = await belayHere(["doctor", "--json", "--store", url], {
    home: folderWith(),
    env: NO_SERVER,
  });
  const checks: readonly Check[] = JSON.parse(stdout).checks;
  const named = (wanted: string) => checks.find(({ name }) => name === wanted);
  return { code, stdout, store: named("store"), sessions: named("sessions"), key: named("key"), queue: named("queue") };
}

test.skipIf(NO_POSTGRES)("doctor looks at a server and changes nothing; then it reads what is kept", async () => {
  const url = await freshStoreUrl();
  const schema = new URL(url).searchParams.get("schema");
  const empty = await doctor(url);
  expect(empty.code).toBe(0);
  expect(empty.store?.detail).toMatch(
    new RegExp(`^postgres://.*, PostgreSQL \\d+.*, the schema ${schema} will be made when it is needed`),
  );
  expect(empty.sessions).toMatchObject({ state: "ok", detail: "none are kept yet" });
  expect(empty.key?.detail).toMatch(/\/config\/belay\/key/);
  const schemas = `SELECT 1 FROM pg_namespace WHERE nspname = '${schema}'`;
  expect(await askServer(url, schemas)).toEqual([]);

  const home = folderWith();
  const ran = await belayHere(["exec", "-e", "1 + 1", "-s", "kept", "--store", url], { home });
  expect(ran).toMatchObject({ code: 0, stdout: "2\n" });
  const kept = await doctor(url);
  expect(kept.store?.detail).toContain(`, schema ${schema} ${SCHEMA_VERSION}`);
  expect(kept.sessions).toMatchObject({ state: "ok", detail: "1 session" });
  expect(kept.queue).toEqual({ name: "queue", state: "ok", detail: "it will be made by the first run" });
  expect(await askServer(url, `SELECT 1 FROM pg_namespace WHERE nspname = '${schema}_queue'`)).toEqual([]);

  await using dispatcher = await openPgBoss({ url, queue: "mine" });
  await dispatcher.offer([{ run: "R", n: 0, rank: 0 }]);
  const detail = "pg-boss's schema 43; its counts may be a minute old\nqueue mine: 1 ticket waits, 0 active, 0 dead";
  expect((await doctor(url)).queue).toEqual({ name: "queue", state: "ok", detail });

  await askServer(url, `UPDATE journal SET content = '\\x7b7d' WHERE seq = 1`);
  const damaged = await doctor(url);
  expect(damaged.code).toBe(1);
  expect(damaged.sessions).toMatchObject({ state: "failed", detail: expect.stringContaining("session kept: ") });

  await askServer(url, `UPDATE meta SET version = 99`);
  expect((await doctor(url)).store).toMatchObject({
    state: "failed",
    detail: expect.stringContaining("is of version 99"),
  });
});

test.skipIf(NO_POSTGRES)("doctor warns of a server that forgets what was committed", async () => {
  const url = await freshStoreUrl();
  const { store } = await doctor(url);
  const isOff = (await askServer(url, "SELECT 1 WHERE current_setting('fsync') = 'off'")).length === 1;
  const warned = { state: "warning", detail: expect.stringMatching("fsync=off"), cure: expect.stringMatching("fsync") };
  expect(store).toMatchObject(isOff ? warned : { state: "ok" });
});

test("doctor tells of a server that cannot be reached, without the password", async () => {
  const { code, store, queue, sessions, stdout } = await doctor("postgres://me:s3cret@127.0.0.1:1/db");
  // The cure is said once. `belay rm`, which is for damaged sessions, would not help.
  const detail = "cannot be looked at until store is cured";
  expect(queue).toEqual({ name: "queue", state: "warning", detail });
  expect(sessions).toEqual({ name: "sessions", state: "failed", detail });
  expect(code).toBe(1);
  expect(store).toMatchObject({ state: "failed", detail: expect.stringContaining("connect ECONNREFUSED") });
  expect(stdout).toContain("me:***@127.0.0.1:1");
  expect(stdout).not.toContain("s3cret");
});

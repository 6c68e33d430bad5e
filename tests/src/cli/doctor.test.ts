import { chmodSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { checkMcp } from "../../../src/cli/doctor/mcp.ts";
import { SCHEMA_VERSION } from "../../../src/store/sqlite/schema.ts";
import { canMount, isRoot, smallDisk } from "../../support/small-disk.ts";
import { folderWith } from "../../support/tree.ts";
import { finished, startBelay } from "./belay.ts";
import { belayHere } from "./in-process.ts";
import { NO_SERVER } from "./no-server.ts";

/** The command, whose check of a server is not looked at. */
function doctor(...[args, options]: Parameters<typeof belayHere>) {
  return belayHere(["doctor", ...args], { ...options, env: { ...NO_SERVER, ...options?.env } });
}

test("doctor names every check, and cures what is wrong with the store folder", async () => {
  const folder = folderWith();
  const shared = join(folder, "shared");
  mkdirSync(shared);
  chmodSync(shared, 0o755);
  writeFileSync(join(folder, "file"), "");
  const [warned, failed] = await Promise.all([
    doctor([], { home: shared }),
    belayHere(["doctor", "--json"], { home: join(folder, "file", "home") }),
  ]);
  expect(warned).toMatchObject({ code: 0, stderr: "" });
  expect(warned.stdout).toMatch(new RegExp(`\nwarning +store +${shared} .*0755.*\n +cure: chmod 700 ${shared}\n`));
  expect(warned.stdout).toMatch(/\nall is well\n$/);
  expect(failed).toMatchObject({ code: 1, stderr: "" });
  const { success, checks } = JSON.parse(failed.stdout);
  expect(success).toBe(false);
  expect(checks.slice(0, 5)).toEqual([
    { name: "node", state: "ok", detail: expect.stringContaining(process.versions.node) },
    { name: "engine", state: "ok", detail: expect.any(String) },
    { name: "sqlite", state: "ok", detail: expect.stringMatching(/^3\.[\d.]+, and a search ran$/) },
    { name: "settings", state: "ok", detail: expect.stringMatching(/^no model, .*; there is no .*config\.json$/) },
    {
      name: "store",
      state: "failed",
      detail: `${join(folder, "file")} is not a folder`,
      cure: expect.stringContaining("BELAY_HOME"),
    },
  ]);
  expect(checks[5]).toEqual({ name: "key", state: "ok", detail: expect.stringMatching(/\/config\/belay\/key/) });
  const detail = "a server listed 7 tools";
  expect(checks.find(({ name }: { name: string }) => name === "mcp")).toEqual({ name: "mcp", state: "ok", detail });
  // It looks, and leaves nothing behind.
  expect([readdirSync(folder).sort(), readdirSync(shared)]).toEqual([["file", "shared"], []]);
});

test("doctor warns of a disk that is nearly full", async ({ skip }) => {
  skip(!canMount(), "no file system can be mounted");
  const home = join(smallDisk(1 << 20), "home");
  mkdirSync(home, { mode: 0o700 });
  const { code, stdout } = await doctor(["--json"], { home });
  expect(code).toBe(0);
  const store = JSON.parse(stdout).checks.find(({ name }: { name: string }) => name === "store");
  expect(store).toMatchObject({ state: "warning", detail: expect.stringMatching(/: its disk has [\d.]+ [KM]B free$/) });
});

test.skipIf(isRoot)("a store that cannot be written is one failure, and its cure is not to drop sessions", async () => {
  const home = join(folderWith(), "home");
  await belayHere(["exec", "-e", "1", "-s", "a"], { home });
  chmodSync(home, 0o500);
  const { stdout } = await doctor([], { home });
  chmodSync(home, 0o700);
  expect(stdout).toMatch(/\nfailed +sessions +cannot be looked at until store is cured\n/);
});

test("doctor says why a server does not start", async () => {
  const { stdout } = await belayHere(["doctor", "--json"], { home: folderWith(), env: { BELAY_SESSION: "a/b" } });
  expect(JSON.parse(stdout).checks.find(({ name }: { name: string }) => name === "mcp")).toEqual({
    name: "mcp",
    state: "failed",
    detail: expect.stringMatching(/^a server ended before .* tools: belay mcp: BELAY_SESSION: "a\/b" is not a valid/),
    cure: expect.any(String),
  });
});

test("a server that is slow is told from one that ends", async () => {
  expect(await checkMcp(1)).toEqual({
    state: "failed",
    detail: "a server did not list its tools within 0.001 s",
    cure: expect.stringContaining("slow or busy"),
  });
});

test("doctor looks at the settings, and whether there is a key for the model", async () => {
  const folder = folderWith({ "home/config.json": '{ "model": "anthropic/claude-sonnet-5", "api_key_env": "K" }' });
  const home = join(folder, "home");
  const settings = async (env: Record<string, string>) => {
    const { stdout } = await doctor(["--json"], { home, cwd: folder, env });
    return JSON.parse(stdout).checks.find(({ name }: { name: string }) => name === "settings");
  };
  const [keyed, bare, wrong] = await Promise.all([settings({ K: "x" }), settings({}), settings({ BELAY_MODEL: "x" })]);
  expect(keyed).toMatchObject({ state: "ok", detail: `model anthropic/claude-sonnet-5; read ${home}/config.json` });
  expect(bare).toMatchObject({ state: "warning", detail: "the environment variable K is not set" });
  expect(wrong).toMatchObject({ state: "failed", detail: expect.stringMatching(/^BELAY_MODEL must be PROVIDER/) });
});

test("doctor reads the whole store, and finds what is damaged there", async () => {
  const home = join(folderWith(), "home");
  const sessions = async () => {
    const run = await doctor(["--json", "--store", home]);
    const { checks } = JSON.parse(run.stdout);
    return { code: run.code, ...checks.find(({ name }: { name: string }) => name === "sessions") };
  };
  expect(await sessions()).toMatchObject({ code: 0, state: "ok", detail: "none are kept yet" });
  const noise = "globalThis.noise = Array.from({ length: 100_000 }, Math.random); 0";
  await belayHere(["exec", "-e", `let n = 1; ${noise}`, "-s", "a"], { home });
  const whole = await sessions();
  expect(whole).toMatchObject({ code: 0, state: "ok", biggest: [{ session: "a", mb: expect.any(Number) }] });
  const [{ mb }] = whole.biggest;
  expect(mb).toBeGreaterThan(1);
  expect(whole.detail).toMatch(
    new RegExp(
      `^1 session in a database of [\\d.]+ MB, schema ${SCHEMA_VERSION}\nbiggest, with contexts uncompressed and files of large ones: a ${mb} MB$`,
    ),
  );
  const database = new DatabaseSync(join(home, "belay.db"));
  database.exec("UPDATE journal SET content = replace(content, 'let n', 'let m')");
  database.close();
  const damaged = await sessions();
  expect(damaged).toMatchObject({ code: 1, state: "failed", cure: expect.stringContaining("belay rm SESSION") });
  expect(damaged.detail).toMatch(/^\d+ findings?\n/);
  writeFileSync(join(home, "belay.db"), "no database");
  expect(await sessions()).toMatchObject({ code: 1, state: "failed" });
});

test.runIf(process.platform === "linux")("no command hangs if its store would lie in /proc", async () => {
  // SIGTERM does not end a process one of whose threads is inside mkdir.
  const run = (args: readonly string[], home: string) => {
    const child = startBelay(args, { home });
    const deadline = setTimeout(() => child.kill("SIGKILL"), 20_000);
    child.stdin?.end("text");
    return finished(child).finally(() => clearTimeout(deadline));
  };
  const [named, index, looked] = await Promise.all([
    run(["exec", "-e", "1", "--json", "--store", "/proc/x"], folderWith()),
    run(["exec", "-e", "search('a')", "-c", "-", "--no-store"], "/proc"),
    run(["doctor"], "/proc/x"),
  ]);
  expect([named.code, index.code, looked.code]).toEqual([1, 1, 1]);
  expect(JSON.parse(named.stdout)).toMatchObject({ error_code: "store_failed" });
  expect(index.stderr).toContain("the search index could not be written (ENOENT)");
  expect(looked.stdout).toMatch(/failed +store +\/proc\/x cannot be written \(ENOENT\)\n +cure: /);
});

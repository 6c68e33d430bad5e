import { spawn } from "node:child_process";
import { chmodSync, chownSync, mkdirSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ROOT, run } from "../../scripts/process.ts";
import { openStore } from "../../src/store/open.ts";
import { belay, ENV, finished, type Run } from "../src/cli/belay.ts";
import { belayHere } from "../src/cli/in-process.ts";
import { COMMAND } from "../support/command.ts";
import { findingsInStore } from "../support/crash/store-check.ts";
import { startModelServer } from "../support/model-server.ts";
import { canMount, fillBut, isRoot, smallDisk } from "../support/small-disk.ts";
import { folderWith } from "../support/tree.ts";

const KB = 1024;
const flagsOf = (url: string) => ["--model", "local/scripted", "--base-url", url, "--api-key-env", "MY_KEY"];
const env = { MY_KEY: "fake-key" };

/** Some hundred KB more with every step, which do not compress. */
const CELL = `
  const blocks = [];
  let state = 1;
  for (let i = 0; i < 5; i++) {
    const answer = await llm_query("grow " + i, { tools: [] });
    blocks.push(new Uint32Array(50_000).map(() => (state = (Math.imul(state, 1664525) + 1013904223) >>> 0)));
    print(i, answer);
  }
  result = blocks.map((block) => block.at(-1));`;

/** What CELL comes to: the state of its generator after each block. */
const EXPECTED: readonly number[] = (() => {
  let state = 1;
  return Array.from({ length: 5 }, () => {
    for (let i = 0; i < 50_000; i++) state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state;
  });
})();

/** What an exec or a resume came to. */
const envelopeOf = (stdout: string) => JSON.parse(stdout.trim().split("\n").at(-1) ?? "{}");

async function verified(home: string): Promise<string[]> {
  await using store = await openStore(home);
  return await findingsInStore(home, store);
}

/** Goes on with a session of which the command may have failed anywhere, and gives the result of the cell. */
async function wentOn(home: string, url: string): Promise<unknown> {
  const resumed = await belayHere(["resume", "grown", "--json"], { home, env });
  const envelope = resumed.code === 0 ? envelopeOf(resumed.stdout) : null;
  if (envelope?.success) return envelope.result_json;
  const args = ["exec", "-e", CELL, "--json", "--quiet", "--session", "grown", ...flagsOf(url)];
  const { stdout } = await belayHere(args, { home, env });
  return envelopeOf(stdout).result_json;
}

test("a full disk: a clear error, nothing half, and the session goes on with space (needs root to mount)", async ({
  skip,
}) => {
  skip(!canMount(), "no file system can be mounted");
  await using server = await startModelServer(({ prompt }) => ({ text: `to ${prompt}` }));
  const disk = smallDisk(24 * 1024 * KB);
  const ends = [
    { free: 0, expected: "store_failed" },
    { free: 700, expected: "checkpoint_failed" },
  ];
  for (const { free, expected } of ends) {
    const home = join(disk, "home");
    mkdirSync(home);
    fillBut(disk, free * KB);
    const args = ["exec", "-e", CELL, "--json", "--quiet", "--session", "grown", ...flagsOf(server.url)];
    const { code, stdout, stderr } = await belay(args, { home, env });
    rmSync(join(disk, "filler"));
    const { error_code, error_message, suggestion } = envelopeOf(stdout);
    expect([code, error_code], `${free} KB: ${stdout}${stderr}`).toEqual([1, expected]);
    expect(error_message, `${free} KB`).toMatch(/full|space|ENOSPC/i);
    expect(suggestion, `${free} KB`).not.toBe("");
    expect(await wentOn(home, server.url), `${free} KB`).toEqual(EXPECTED);
    expect(await verified(home), `${free} KB`).toEqual([]);
    rmSync(home, { recursive: true });
  }
}, 240_000);

test("a disk without room for SQLite's own files is called full, and nothing is called damaged (needs root to mount)", async ({
  skip,
}) => {
  skip(!canMount(), "no file system can be mounted");
  const disk = smallDisk(8 * 1024 * KB);
  const home = join(disk, "home");
  expect((await belayHere(["exec", "-e", "1", "--session", "kept"], { home })).code).toBe(0);
  fillBut(disk, 0);
  for (const args of [["rm", "kept"], ["gc"], ["doctor"]]) {
    const { code, stdout, stderr } = await belayHere(args, { home });
    const said = stdout + stderr;
    expect([code, said], args[0]).toEqual([1, expect.stringMatching(/disk is full[\s\S]*free space on its disk/i)]);
    expect(said).not.toContain("drops a damaged");
  }
  rmSync(join(disk, "filler"));
  expect((await belayHere(["rm", "kept"], { home })).code).toBe(0);
});

test("files that cannot grow: writes are cut short, and the session goes on when they can", async () => {
  await using server = await startModelServer(({ prompt }) => ({ text: `to ${prompt}` }));
  const ends = [
    { blocks: 60, expected: "store_failed" },
    { blocks: 850, expected: "checkpoint_failed" },
  ];
  for (const { blocks, expected } of ends) {
    const home = folderWith();
    // In units of 512 bytes, for every file that the process writes.
    const line = `ulimit -f ${blocks}; exec "$0" "$@"`;
    const args = ["exec", "-e", CELL, "--json", "--quiet", "--session", "grown", ...flagsOf(server.url)];
    const options = { cwd: ROOT, env: { ...ENV, ...env, BELAY_HOME: home } };
    const { code, stdout, stderr } = await run("sh", ["-c", line, process.execPath, ...COMMAND, ...args], options);
    const { error_code, suggestion } = envelopeOf(stdout);
    expect([code, error_code], `${blocks}: ${stdout}${stderr}`).toEqual([1, expected]);
    expect(suggestion).not.toBe("");
    expect(await wentOn(home, server.url), `${blocks} blocks`).toEqual(EXPECTED);
    expect(await verified(home), `${blocks} blocks`).toEqual([]);
  }
}, 240_000);

test("a store that may not be written: the command says so, and goes on when it may", async () => {
  const home = folderWith();
  // Root may write everything; the user nobody may not.
  const user = isRoot ? { uid: 65_534, gid: 65_534 } : {};
  if (isRoot) chownSync(home, 65_534, 65_534);
  const asUser = (...args: string[]): Promise<Run> => {
    const options = { cwd: home, env: { ...ENV, HOME: home, BELAY_HOME: home }, ...user };
    return finished(spawn(process.execPath, [...COMMAND, ...args], options));
  };
  const exec = (code: string) => asUser("exec", "-e", code, "--json", "--quiet", "--session", "kept");
  expect(envelopeOf((await exec("let total = 1")).stdout)).toMatchObject({ success: true });
  const files = readdirSync(home, { recursive: true, encoding: "utf8" }).map((name) => join(home, name));
  for (const path of [...files, home]) chmodSync(path, 0o500);
  const denied = await exec("total += 1");
  for (const path of [home, ...files]) chmodSync(path, 0o700);
  expect(denied.code).toBe(1);
  const { error_code, error_message, suggestion } = envelopeOf(denied.stdout);
  expect(error_code).toBe("store_failed");
  expect(`${error_message} ${suggestion}`).toContain(home);
  expect(envelopeOf((await exec("total += 1")).stdout)).toMatchObject({ success: true, result_json: 2 });
  expect(await verified(home)).toEqual([]);
});

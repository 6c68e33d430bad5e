import { setTimeout } from "node:timers/promises";
import { expect, onTestFinished, test, vi } from "vitest";
import { finished, json, startBelay } from "../belay.ts";
import { scene } from "./scene.ts";

// The words of a provider that refuses stand wherever a run is looked at. They are untrusted: bounded, in a line, and without keys.

const KEY = "sk-secret-0123456789abcdef";
const SAID = `You exceeded\u001b[31m your quota of ${KEY}.\nSee billing. ${"x".repeat(3000)}`;

/** A run of two jobs, whose provider answers with this status. */
async function refused(status: number, headers: Readonly<Record<string, string>> = {}) {
  const made = await scene({ "in.csv": "id,text\na,one\nb,two\nc,three\n" }, () => ({
    status,
    headers,
    body: JSON.stringify({ error: { message: SAID, type: "quota" } }),
  }));
  vi.stubEnv("MINE_KEY", KEY);
  onTestFinished(() => void vi.unstubAllEnvs());
  const line = ["batch", "ask.js", "--jobs", "in.csv", "--name", "mine", "--api-key-env", "MINE_KEY"];
  const look = async () => ({
    list: await made.type(["jobs"]),
    run: await made.type(["jobs", "mine"]),
    job: await made.type(["jobs", "mine", "a"]),
    show: await made.type(["show", "mine/a"]),
    lists: json(await made.type(["jobs", "--json"])),
    runs: json(await made.type(["jobs", "mine", "--json"])),
    jobs: json(await made.type(["jobs", "mine", "a", "--json"])),
    shows: json(await made.type(["show", "mine/a", "--json"])),
  });
  return { ...made, line, look };
}

type Looked = Awaited<ReturnType<Awaited<ReturnType<typeof refused>>["look"]>>;

function expectWords({ list, run, job, show, lists, runs, jobs, shows }: Looked, code: string): void {
  const refusal = { error_code: code, error: expect.stringContaining("You exceeded"), at: expect.any(Number) };
  expect(lists.runs[0]).toMatchObject({ refusal });
  expect(runs).toMatchObject({ run: { refusal }, jobs: [{ job: "a", refusal }, {}, {}] });
  expect([jobs, shows]).toMatchObject([{ refusal }, { refusal }]);
  for (const { stdout } of [list, run, job, show]) {
    expect(stdout).toContain(code);
    expect(stdout).toContain("You exceeded");
    expect(stdout).not.toContain("\u001b[31m");
    expect(stdout).not.toContain(KEY);
    expect(stdout.length).toBeLessThan(3000);
  }
  // What is cut says so.
  for (const { stdout } of [list, run]) expect(stdout).toContain("x…");
  expect(JSON.stringify([lists, runs, jobs, shows])).not.toContain(KEY);
  expect(jobs.refusal.error).toMatch(/^.{1,500}…$/s);
}

test("a provider that makes jobs wait is quoted until they go on", async () => {
  const { folder, home, server, line, type, look } = await refused(429, { "retry-after": "3600" });
  const env = { BELAY_BASE_URL: server.url, BELAY_MODEL: "local/m", MINE_KEY: KEY };
  const child = startBelay(line, { cwd: folder, home, env });
  const ended = finished(child);
  const isParked = async () => json(await type(["jobs", "--json"])).runs[0]?.jobs.parked === 3;
  while (!(await isParked())) await setTimeout(50);
  expectWords(await look(), "rate_limited");
  child.kill("SIGINT");
  expect((await ended).code).toBe(130);
}, 30_000);

test("a provider that refuses the key pauses the run, and its jobs tell in which words", async () => {
  const { line, type, look } = await refused(401);
  const paused = await type([...line, "--concurrency", "1"]);
  expect(paused.code).toBe(3);
  const looked = await look();
  expectWords(looked, "auth_failed");
  expect(looked.lists.runs[0]).toMatchObject({ state: "paused", why: expect.stringContaining("You exceeded") });
});

test("what a job failed by is the last refusal of its run too", async () => {
  const { line, type } = await refused(400);
  expect((await type(line)).code).toBe(1);
  expect(json(await type(["jobs", "--json"])).runs[0].refusal).toMatchObject({
    error_code: "provider_error",
    error: expect.stringContaining("400 You exceeded"),
  });
  expect((await type(["jobs"])).stdout).toMatch(/^mine: refused: provider_error: .*400 You exceeded/m);
});

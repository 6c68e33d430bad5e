import { spawnSync } from "node:child_process";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openLeaving, untilStopped } from "../../../src/cli/stop.ts";
import { startProxy } from "../../support/proxy.ts";
import { folderWith } from "../../support/tree.ts";
import { belay, belayLine, finished, jsonLines, type Run, startBelay, untilSearched } from "./belay.ts";

/** Sends a signal to a command once its second cell runs, which loops. */
async function interrupted(args: readonly string[], signal: NodeJS.Signals): Promise<Run> {
  const home = join(folderWith({ "a.txt": "a word" }), "home");
  const cells = ["-e", "'ready'", "-e", "search('word'); for (;;) {}", "-e", "'never'"];
  const child = startBelay(["exec", "-c", join(home, "../a.txt"), ...cells, ...args], { home });
  const run = finished(child);
  await untilSearched(home);
  child.kill(signal);
  return run;
}

test("the first Ctrl-C ends the run: a session that is kept is suspended, another cancelled", async () => {
  const store = join(folderWith(), "store");
  const [text, json, unkept] = await Promise.all([
    interrupted(["-s", "loop", "--store", store], "SIGINT"),
    interrupted(["--json"], "SIGTERM"),
    interrupted(["--no-store"], "SIGHUP"),
  ]);
  const line = `belay resume loop --store ${store}`;
  expect(text).toEqual({ code: 130, stdout: "ready\n", stderr: `suspended; continue with: ${line}\n` });
  const envelopes = jsonLines(json);
  expect(json).toMatchObject({ code: 143, stderr: "" });
  const resume = `belay resume ${envelopes[0].session_id.slice(-8)}`;
  const suggestion = `\`${resume}\` finishes it.`;
  const open = { success: false, error_code: "cancelled", resumable: true, suggestion, resume };
  expect(envelopes).toMatchObject([{ success: true }, open]);
  expect(unkept).toEqual({ code: 129, stdout: "ready\n", stderr: "cancelled\n" });
});

test("Ctrl-C while stdin is awaited ends the run", async () => {
  const child = startBelay(["exec", "-e", "1", "-c", "-"]);
  // More than a pipe holds: once it is written, the command is reading.
  child.stdin?.write("x".repeat(2_000_000), () => child.kill("SIGINT"));
  expect(await finished(child)).toEqual({ code: 130, stdout: "", stderr: "" });
});

test("a reader that goes away ends the run quietly", async () => {
  const path = join(folderWith(), "long.txt");
  writeFileSync(path, "line\n".repeat(100_000));
  const child = startBelay(["exec", "-q", "-c", path, "-e", "P", "-e", "P", "-e", "print(P); for (;;) {}"]);
  child.stdin?.end();
  child.stdout?.once("data", () => child.stdout?.destroy());
  expect(await finished(child)).toMatchObject({ code: 0, stderr: "" });
});

test.skipIf(!existsSync("/dev/full")).each(["exec -e 1", "models sonnet"])(
  "a full disk under stdout fails: %s",
  (line) => {
    const env = { ...process.env, BELAY_HOME: join(folderWith(), "home") };
    const { status, stderr } = spawnSync("sh", ["-c", `${belayLine(line)} > /dev/full`], { encoding: "utf8", env });
    expect([status, stderr]).toEqual([1, "belay: stdout cannot be written (ENOSPC)\n"]);
  },
);

test("a process that is ended in its work waits for what must be over, and the next time for nothing", async () => {
  const exits: number[] = [];
  const leaving = openLeaving((code) => exits.push(code));
  const closed = Promise.withResolvers<void>();
  leaving.after(() => closed.promise);
  leaving.after(() => Promise.reject(new Error("a store that cannot be closed")));
  leaving.leave(130);
  expect(exits).toEqual([]);
  leaving.leave(143);
  expect(exits).toEqual([143]);
  closed.resolve();
  await expect.poll(() => exits).toEqual([143, 130]);
});

test("where nothing is to be waited for, it ends at once", () => {
  const exits: number[] = [];
  openLeaving((code) => exits.push(code)).leave(129);
  expect(exits).toEqual([129]);
});

test("a signal suspends, a closed stdout cancels, both abort", async () => {
  const [signalled, closed] = [{}, {}];
  const code = await untilStopped(async (stop) => {
    process.emit("SIGTERM");
    Object.assign(signalled, { suspend: stop.suspend.aborted, cancel: stop.cancel.aborted, any: stop.signal.aborted });
    return 0;
  });
  await untilStopped(async (stop) => {
    stop.close(0);
    Object.assign(closed, { suspend: stop.suspend.aborted, cancel: stop.cancel.aborted, any: stop.signal.aborted });
    return 0;
  });
  expect([code, signalled, closed]).toEqual([
    143,
    { suspend: true, cancel: false, any: true },
    { suspend: false, cancel: true, any: true },
  ]);
});

test("a command ends when its work has ended, whatever a proxy holds open", async () => {
  await using proxy = await startProxy("silent");
  const env = { ANTHROPIC_API_KEY: "key-of-the-user-123", HTTPS_PROXY: proxy.url };
  const asking = ["exec", "-e", 'await llm_query("hi", { tools: [] })', "--model", "anthropic/claude-sonnet-5"];
  const run = await belay([...asking, "--no-store", "--max-time-ms", "1500"], { env });
  expect(run).toMatchObject({ code: 1, stderr: expect.stringContaining("the time of the budget has run out") });
  expect(proxy.seen).toEqual(["CONNECT api.anthropic.com:443"]);
});

import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { ROOT } from "../../../scripts/process.ts";
import { openScriptedModel } from "../../../src/cli/demo/model.ts";
import { folderWith } from "../../support/tree.ts";
import { belay, finished, startBelay } from "./belay.ts";

/** A text without what differs from run to run. A slow machine prints how the calls stand. */
const plain = (text: string) =>
  text
    .replace(/127\.0\.0\.1:\d+/, "127.0.0.1:PORT")
    .replace(/kill -9 \d+/, "kill -9 PID")
    .replace(/took [\d.]+ m?s/, "took TIME")
    .replaceAll(/^(?:[█░]+ calls|calls|turn \d+ of|turn \d+: waiting) .*\n/gm, "");

test("the demo prints its story, whatever the user's settings are, and leaves nothing", async () => {
  const shown = readFileSync(join(import.meta.dirname, "demo.txt"), "utf8");
  const home = join(folderWith(), "home");
  const TMPDIR = folderWith();
  const settings = { BELAY_MAX_SUB_CALLS: "1", BELAY_MODEL: "local/other", HTTP_PROXY: "http://127.0.0.1:9" };
  const run = await belay(["demo"], { home, env: { ...settings, TMPDIR } });
  expect({ ...run, stdout: plain(run.stdout) }).toEqual({ code: 0, stdout: plain(shown), stderr: "" });
  expect(readdirSync(TMPDIR)).toEqual([]);
  expect(existsSync(home)).toBe(false);
});

test("the demo of an ask prints what docs/command.md shows, and leaves nothing", async () => {
  const page = readFileSync(join(ROOT, "docs/command.md"), "utf8");
  const [, shown = ""] = /```console\n\$ belay demo --ask\n(.*?)\n```\n\n/s.exec(page) ?? [];
  const TMPDIR = folderWith();
  const run = await belay(["demo", "--ask"], { env: { TMPDIR } });
  expect(run).toMatchObject({ code: 0, stderr: "" });
  expect(plain(run.stdout)).toContain(plain(shown));
  expect(readdirSync(TMPDIR)).toEqual([]);
  const json = await belay(["demo", "--ask", "--json"], { env: { TMPDIR } });
  expect(JSON.parse(json.stdout)).toMatchObject({ success: true, answer: 5, requests: 15 });
});

test("Ctrl-C ends the demo with its processes and its folder", async () => {
  const TMPDIR = folderWith();
  const child = startBelay(["demo"], { env: { TMPDIR } });
  onTestFinished(() => void child.kill("SIGKILL"));
  let below: number[] = [];
  const run = await finished(child, (_, stdout) => {
    if (below.length > 0 || !stdout.includes("--base-url")) return;
    below = execFileSync("ps", ["-o", "pid=", "--ppid", String(child.pid)], { encoding: "utf8" })
      .trim()
      .split(/\s+/)
      .map(Number);
    child.kill("SIGINT");
  });
  expect(run).toMatchObject({ code: 130, stderr: "stopped; nothing of the demo is left\n" });
  expect(readdirSync(TMPDIR)).toEqual([]);
  expect(below.filter((pid) => existsSync(`/proc/${pid}/cwd`))).toEqual([]);
});

test("the scripted model answers as many requests as it is allowed, and the others when their turn comes", async () => {
  await using model = await openScriptedModel((prompt) => prompt.toUpperCase());
  const ask = async (content: string) => {
    const body = JSON.stringify({ messages: [{ role: "user", content }] });
    return (await fetch(`${model.url}/chat/completions`, { method: "POST", body })).text();
  };
  model.allow(1);
  const first = ask("one");
  expect(await first).toContain('"content":"ONE"');
  const others = [ask("two"), ask("three")];
  const late = Promise.race(others);
  model.allow(Number.POSITIVE_INFINITY);
  expect(await late).toMatch(/TWO|THREE/);
  expect(await Promise.all(others)).toMatchObject([expect.stringContaining("TWO"), expect.stringContaining("THREE")]);
  expect((await fetch(model.url, { method: "POST", body: "{" })).status).toBe(400);
  expect(model.requests).toBe(3);
});

import { expect, test } from "vitest";
import { belay, finished, startBelay } from "../src/cli/belay.ts";
import { startModelServer } from "../support/model-server.ts";
import { folderWith } from "../support/tree.ts";

const KEY = { MY_KEY: "fake-key" };

const flagsOf = (session: string, url: string) =>
  `--json --quiet --session ${session} --model local/scripted --base-url ${url} --api-key-env MY_KEY`.split(" ");

test("a second process is told who has the session, and goes on with it once the first was killed", async () => {
  let release = false;
  const asked = Promise.withResolvers<void>();
  await using server = await startModelServer(() => {
    asked.resolve();
    return release ? { text: "at last" } : { end: "stuck", text: "" };
  });
  const options = { home: folderWith(), env: KEY };
  const exec = ["exec", "-e", 'let seen = 1; await llm_query("hold", { tools: [] })', ...flagsOf("shared", server.url)];
  const first = startBelay(exec, options);
  const end = finished(first);
  await asked.promise;
  const [again, other, resumed, look] = await Promise.all([
    belay(exec, options),
    belay(["exec", "-e", "seen", "--quiet", "--session", "shared"], options),
    belay(["resume", "shared", "--json"], options),
    belay(["sessions", "--json"], options),
  ]);
  for (const { code, stdout, stderr } of [again, other, resumed]) {
    expect(code).toBe(1);
    expect(`${stdout}${stderr}`).toContain(String(first.pid));
    expect(`${stdout}${stderr}`).toMatch(/session_busy|suggestion/);
  }
  expect(JSON.parse(again.stdout)).toMatchObject({ success: false, error_code: "session_busy" });
  expect(look.stdout).toContain("shared");
  expect(server.requests).toHaveLength(1);

  first.kill("SIGKILL");
  expect((await end).code).toBeNull();
  release = true;
  const unfinished = await belay(["exec", "-e", "seen", "--json", "--quiet", "--session", "shared"], options);
  expect(JSON.parse(unfinished.stdout)).toMatchObject({ error_code: "exec_unfinished" });
  const whole = await belay(["resume", "shared", "--json"], options);
  expect(JSON.parse(whole.stdout)).toMatchObject({ success: true, result_json: "at last", resumed: 1 });
  const after = await belay(["exec", "-e", "seen + 1", "--quiet", "--session", "shared"], options);
  expect(after).toMatchObject({ code: 0, stdout: "2\n" });
  expect(server.requests).toHaveLength(2);
});

test("calls in flight at the end of a process fail where the user says so, and the cell can catch it", async () => {
  let stuck = true;
  const asked = Promise.withResolvers<void>();
  await using server = await startModelServer(({ prompt }) => {
    if (prompt === "second" && stuck) {
      asked.resolve();
      return { end: "stuck", text: "" };
    }
    return { text: `to ${prompt}` };
  });
  const options = { home: folderWith(), env: KEY };
  const cell = `
    const first = await llm_query("first", { tools: [] });
    const second = await llm_query("second", { tools: [] }).catch(({ code, message }) => ({ code, message }));
    result = [first, second, await llm_query("third", { tools: [] })];`;
  const child = startBelay(["exec", "-e", cell, ...flagsOf("s", server.url)], options);
  const end = finished(child);
  await asked.promise;
  child.kill("SIGKILL");
  await end;
  stuck = false;
  const { stdout } = await belay(["resume", "s", "--json", "--on-restart", "fail"], options);
  const envelope = JSON.parse(stdout);
  expect(envelope).toMatchObject({ success: true, resumed: 1 });
  expect(envelope.result_json).toEqual([
    "to first",
    { code: "process_restarted", message: expect.any(String) },
    "to third",
  ]);
  expect(server.requests.map(({ prompt }) => prompt)).toEqual(["first", "second", "third"]);
});

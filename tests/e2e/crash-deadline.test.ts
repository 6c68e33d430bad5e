import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { KEY_VARIABLE, type Kill, live } from "../support/crash-life.ts";
import { startModelServer } from "../support/model-server.ts";
import { folderWith } from "../support/tree.ts";

const CELL = 'await rlm_query("Slow", { context: "a", timeout_ms: 400 }).catch(({ code, message }) => [code, message])';
const TIMED_OUT = '["timeout", "the call took longer than 400 ms"]\n';

test("a call whose process is killed between its deadline and its record is over in time after the resume", async () => {
  const server = await startModelServer(() => ({ end: "stuck" }));
  onTestFinished(() => server.close());
  const home = join(folderWith(), "home");
  const run = (session: string, kill: Kill | null, ...args: string[]) =>
    live([...args, session], { cwd: folderWith(), home, key: "k", kill });
  const model = ["--model", "local/m", "--base-url", server.url, "--api-key-env", KEY_VARIABLE];
  const exec = ["exec", "-e", CELL, ...model, "-s"];
  const whole = await run("whole", null, ...exec);
  expect(whole).toMatchObject({ code: 0, stdout: TIMED_OUT });
  // The last commit before the child is let go ends its ask. The call is recorded by the next one.
  const released = whole.operations.indexOf("release");
  const operation = whole.operations.lastIndexOf("commit", released) + 1;
  const killed = await run("cut", { how: "operation", operation, side: "after", waitMs: 0 }, ...exec);
  expect(killed, killed.operations.join(" ")).toMatchObject({ interrupted: true, stdout: "" });
  const requests = server.requests.length;
  expect(await run("cut", null, "resume")).toMatchObject({ code: 0, stdout: TIMED_OUT });
  expect(server.requests).toHaveLength(requests);
});

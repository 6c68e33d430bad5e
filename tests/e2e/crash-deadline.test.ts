import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { KEY_VARIABLE, type Kill, live } from "../support/crash-life.ts";
import { startModelServer } from "../support/model-server.ts";
import { folderWith } from "../support/tree.ts";

const CELL =
  'await rlm_query("Slow", { context: "a", timeout_ms: 2000 }).catch(({ code, message }) => [code, message])';
const TIMED_OUT = '["timeout", "the call took longer than 2000 ms"]\n';

test("a call whose process is killed between its deadline and its record is over in time after the resume", async () => {
  const server = await startModelServer(() => ({ end: "stuck" }));
  onTestFinished(() => server.close());
  /** Each home is new: a first use of a store has operations that later ones do not have. */
  const run = (home: string, kill: Kill | null, ...args: string[]) =>
    live([...args, "work"], { cwd: folderWith(), home, key: "k", kill });
  const [first, second] = [join(folderWith(), "home"), join(folderWith(), "home")];
  const model = ["--model", "local/m", "--base-url", server.url, "--api-key-env", KEY_VARIABLE];
  const exec = ["exec", "-e", CELL, ...model, "-s"];
  const whole = await run(first, null, ...exec);
  expect(whole).toMatchObject({ code: 0, stdout: TIMED_OUT });
  // The last commit before the child is let go ends its ask. The call is recorded by the next one.
  const released = whole.operations.indexOf("release");
  const operation = whole.operations.lastIndexOf("commit", released) + 1;
  const killed = await run(second, { how: "operation", operation, side: "after", waitMs: 0 }, ...exec);
  expect(killed, killed.operations.join(" ")).toMatchObject({ interrupted: true, stdout: "" });
  expect(killed.operations).toHaveLength(operation);
  const requests = server.requests.length;
  expect(await run(second, null, "resume")).toMatchObject({ code: 0, stdout: TIMED_OUT });
  expect(server.requests).toHaveLength(requests);
});

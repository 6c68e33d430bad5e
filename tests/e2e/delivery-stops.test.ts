import { expect, test, vi } from "vitest";
import { finished, startBelay } from "../src/cli/belay.ts";
import { deliveryLines } from "../src/cli/delivery/scene.ts";
import { belayHere } from "../src/cli/in-process.ts";

// Kills of a run at every step: batch-campaign.test.ts. Ends of a wait: tests/src/cli/delivery.

test("Ctrl-C while only a provider can go on leaves the calls there, and so does a kill", async () => {
  const answers = Promise.withResolvers<void>();
  const { server, env, home, folder } = await deliveryLines({ fate: () => ({ wait: answers.promise }) });
  const options = { cwd: folder, home, env };
  const line = "batch ask.js --jobs in.jsonl --name mine -o out.jsonl";
  const cell = ["exec", "-e", 'await llm_query("x", { tools: [] })', "--session", "s"];
  const looks = () => server.steps.filter(({ kind }) => kind === "look").length;

  const child = startBelay(line.split(" "), options);
  const ended = finished(child);
  await vi.waitFor(() => expect(looks()).toBeGreaterThan(1));
  child.kill("SIGINT");
  const stopped = await ended;
  expect(stopped.code).toBe(130);
  expect(stopped.stderr).toMatch(/\nsuspended at 0 of 3; 3 calls stay at the provider; continue with: /);
  expect(stopped.stderr.endsWith(`; continue with: belay ${line}\n`)).toBe(true);

  const before = looks();
  const killed = startBelay(line.split(" "), options);
  const over = finished(killed);
  await vi.waitFor(() => expect(looks()).toBeGreaterThan(before));
  killed.kill("SIGKILL");
  await over;

  const exec = startBelay(cell, options);
  const left = finished(exec);
  await vi.waitFor(() => expect(server.batches).toHaveLength(2));
  // The next look is that of a process that has waited.
  await vi.waitFor(() => expect(server.steps.at(-1)?.kind).toBe("look"));
  exec.kill("SIGINT");
  expect(await left).toMatchObject({
    code: 130,
    stderr: expect.stringMatching(/\nsuspended; continue with: belay resume s\n$/),
  });

  answers.resolve();
  expect(await belayHere(line.split(" "), options)).toMatchObject({ code: 0 });
  expect(await belayHere(["resume", "s"], options)).toMatchObject({ code: 0, stdout: "X\n" });
  expect(server.batches).toHaveLength(2);
  expect([...server.paid().values()]).toEqual([1, 1, 1, 1]);
});

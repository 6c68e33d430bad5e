import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { linesIn } from "../src/cli/batch/scene.ts";
import { finished, startBelay } from "../src/cli/belay.ts";
import { belayHere } from "../src/cli/in-process.ts";
import { startModelServer } from "../support/model-server.ts";
import { folderWith } from "../support/tree.ts";

// Kills of a run: batch-campaign.test.ts.

test("Ctrl-C suspends the jobs, says how far it came, and the same line goes on", async () => {
  const released = Promise.withResolvers<void>();
  let answered = 0;
  await using server = await startModelServer(async ({ index, prompt }) => {
    if (index >= 5) await released.promise;
    answered++;
    return { text: `label of ${prompt}` };
  });
  const rows = Array.from({ length: 12 }, (_, n) => `${JSON.stringify({ id: `j${n}`, text: `text ${n}` })}\n`);
  const folder = folderWith({
    "in.jsonl": rows.join(""),
    "ask.js": "const label = await llm_query(job.text, { tools: [] });\nlabel + '!'",
  });
  const env = { BELAY_BASE_URL: server.url, BELAY_MODEL: "local/m" };
  const options = { cwd: folder, home: join(folder, "home"), env };
  const line = "batch ask.js --jobs in.jsonl --name mine -o out.jsonl --concurrency 3";
  const results = () => linesIn(readFileSync(join(folder, "out.jsonl"), "utf8"));

  const child = startBelay(line.split(" "), options);
  const ended = finished(child);
  await vi.waitFor(() => expect([answered, server.requests.length]).toEqual([5, 8]));
  child.kill("SIGINT");
  const stopped = await ended;
  expect(stopped.code).toBe(130);
  expect(stopped.stderr).toMatch(/\nsuspended at \d+ of 12; continue with: /);
  expect(stopped.stderr.endsWith(`; continue with: belay ${line}\n`)).toBe(true);
  expect(results().length).toBeGreaterThan(0);
  released.resolve();
  expect(await belayHere(line.split(" "), options)).toMatchObject({ code: 0 });
  expect(results()).toHaveLength(12);
  // What was interrupted went on in its session.
  expect(results().some(({ resumed }) => resumed > 0)).toBe(true);
});

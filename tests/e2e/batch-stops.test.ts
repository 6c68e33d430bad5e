import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { linesIn } from "../src/cli/batch/scene.ts";
import { belay, finished, startBelay } from "../src/cli/belay.ts";
import { startModelServer } from "../support/model-server.ts";
import { folderWith } from "../support/tree.ts";

const JOBS = 12;
const AT_ONCE = 3;

/** A run whose questions are answered as far as the test allows. */
async function stoppedScene() {
  let allowed = 0;
  let wake = Promise.withResolvers<void>();
  const answered = new Map<string, number>();
  const server = await startModelServer(async ({ prompt }) => {
    while (answered.size >= allowed) await wake.promise;
    answered.set(prompt, (answered.get(prompt) ?? 0) + 1);
    return { text: `label of ${prompt}` };
  });
  onTestFinished(() => server.close());
  const rows = Array.from({ length: JOBS }, (_, n) => `${JSON.stringify({ id: `j${n}`, text: `text ${n}` })}\n`);
  const folder = folderWith({
    "in.jsonl": rows.join(""),
    "ask.js": "const label = await llm_query(job.text, { tools: [] });\nlabel + '!'",
  });
  const line = [
    "batch",
    "ask.js",
    "--jobs",
    "in.jsonl",
    "--name",
    "mine",
    "-o",
    "out.jsonl",
    "--concurrency",
    String(AT_ONCE),
  ];
  const options = {
    cwd: folder,
    home: join(folder, "home"),
    env: { BELAY_BASE_URL: server.url, BELAY_MODEL: "local/m" },
  };
  const allow = (count: number) => {
    allowed = count;
    wake.resolve();
    wake = Promise.withResolvers();
  };
  return {
    server,
    answered,
    line,
    options,
    allow,
    out: () => readFileSync(join(folder, "out.jsonl"), "utf8"),
    /** Starts the line; resolves when so many questions are answered and others are in flight. */
    async untilAnswered(count: number) {
      allow(count);
      const before = server.requests.length;
      const child = startBelay(line, options);
      const ended = finished(child);
      const middle = () => {
        expect(answered.size).toBe(count);
        expect(server.requests.length - before).toBeGreaterThanOrEqual(AT_ONCE);
      };
      await vi.waitFor(middle, { timeout: 30_000 });
      return { child, ended };
    },
  };
}

test("a killed run goes on with the same line, and its file of results is what the store has, byte for byte", async () => {
  const { untilAnswered, allow, server, answered, line, options, out } = await stoppedScene();
  for (const count of [4, 8]) {
    const { child, ended } = await untilAnswered(count);
    child.kill("SIGKILL");
    await ended;
  }
  allow(Number.POSITIVE_INFINITY);
  expect(await belay(line, options)).toMatchObject({ code: 0, stdout: "" });
  expect(linesIn(out()).map(({ job, n, status, result }) => [job, n, status, result])).toEqual(
    Array.from({ length: JOBS }, (_, n) => [`j${n}`, n, "done", `label of text ${n}!`]),
  );
  expect((await belay(["jobs", "out", "mine"], options)).stdout).toBe(out());
  // Each kill cut the calls that were in flight, and an answer that was on its way to the store.
  expect(server.requests.length).toBeLessThanOrEqual(JOBS + 2 * AT_ONCE);
  expect(answered.size).toBe(JOBS);
});

test("Ctrl-C suspends the jobs, says how far it came, and the same line goes on", async () => {
  const { untilAnswered, allow, line, options, out } = await stoppedScene();
  const { child, ended } = await untilAnswered(5);
  child.kill("SIGINT");
  const stopped = await ended;
  expect(stopped.code).toBe(130);
  const over = linesIn(out()).length;
  expect(stopped.stderr).toMatch(
    /\nsuspended at \d+ of 12; continue with: belay batch ask.js --jobs in.jsonl --name mine -o out.jsonl --concurrency 3\n$/,
  );
  expect(over).toBeGreaterThan(0);
  allow(Number.POSITIVE_INFINITY);
  expect(await belay(line, options)).toMatchObject({ code: 0 });
  const results = linesIn(out());
  expect(results).toHaveLength(JOBS);
  // What was interrupted went on in its session.
  expect(results.some(({ resumed }) => resumed > 0)).toBe(true);
});

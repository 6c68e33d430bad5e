import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { itemOf } from "../../src/eval/suites.ts";
import { endedAt, jsonLines } from "../src/cli/belay.ts";
import { belayHere } from "../src/cli/in-process.ts";
import { codingAgents, startsOf } from "../support/agents/coding.ts";
import { evalModel } from "../support/eval-model.ts";
import { startModelServer } from "../support/model-server.ts";
import { folderWith, grow } from "../support/tree.ts";

const [one, two] = [1, 2].map((number) => itemOf("needle", "8k", number, 1).item);

test("an evaluation that was killed goes on, and what was answered is not asked again", async () => {
  const model = evalModel((question) => String((question === one?.question ? one : two)?.expected));
  const folder = folderWith();
  const gate = join(folder, "gate");
  grow(folder, { "home/config.json": JSON.stringify({ agents: codingAgents(folder, { coder: {} }, [gate]) }) });
  const killed = Promise.withResolvers<void>();
  const answered: string[] = [];
  await using server = await startModelServer(async (request) => {
    // The coding agent works, and the fifth request and those after it are in flight, when the process dies.
    if (request.index === 3) await vi.waitUntil(() => startsOf(folder).length === 1, 30_000);
    if (request.index >= 4) await killed.promise;
    if (request.index < 4) answered.push(request.sent);
    return model(request);
  });
  const options = {
    cwd: folder,
    home: join(folder, "home"),
    env: { BELAY_BASE_URL: server.url, BELAY_MODEL: "local/m" },
  };
  const line = "eval needle --size 8k --n 2 --name killed --window 32000 --concurrency 4 --baseline coder".split(" ");
  expect((await endedAt(server, 6, "SIGKILL", line, options)).code).toBeNull();
  expect(answered).toHaveLength(4);
  killed.resolve();
  writeFileSync(gate, "");
  expect(await belayHere(line, options)).toMatchObject({ code: 0 });
  const rows = jsonLines({ stdout: readFileSync(join(folder, "belay-eval/killed/results.jsonl"), "utf8") });
  expect(rows.map(({ score }) => score)).toEqual(Array(8).fill(1));
  expect(rows.some(({ resumes }) => resumes > 0)).toBe(true);
  // Eight requests, and the two that were in flight once more.
  expect(server.requests.length).toBe(10);
  // The agent worked on meanwhile, and its answer was taken.
  const keys = startsOf(folder).map(({ key }) => key);
  expect([keys.length, new Set(keys).size]).toEqual([2, 2]);
  const coded = rows.filter(({ method }) => method === "coder");
  expect(coded.map(({ cost_usd }) => cost_usd)).toEqual([0.01, 0.01]);
  const askedLater = server.requests.slice(6).map(({ sent }) => sent);
  expect(askedLater.filter((sent) => answered.includes(sent))).toEqual([]);
});

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { itemOf } from "../../src/eval/suites.ts";
import { endedAt, jsonLines } from "../src/cli/belay.ts";
import { belayHere } from "../src/cli/in-process.ts";
import { evalModel } from "../support/eval-model.ts";
import { startModelServer } from "../support/model-server.ts";
import { folderWith } from "../support/tree.ts";

const [one, two] = [1, 2].map((number) => itemOf("needle", "8k", number, 1).item);

test("an evaluation that was killed goes on, and what was answered is not asked again", async () => {
  const model = evalModel((question) => String((question === one?.question ? one : two)?.expected));
  const killed = Promise.withResolvers<void>();
  const answered: string[] = [];
  await using server = await startModelServer(async (request) => {
    // The fifth request and those after it are in flight when the process dies.
    if (request.index >= 4) await killed.promise;
    if (request.index < 4) answered.push(request.sent);
    return model(request);
  });
  const folder = folderWith();
  const options = {
    cwd: folder,
    home: join(folder, "home"),
    env: { BELAY_BASE_URL: server.url, BELAY_MODEL: "local/m" },
  };
  const line = "eval needle --size 8k --n 2 --name killed --window 32000 --concurrency 2".split(" ");
  expect((await endedAt(server, 6, "SIGKILL", line, options)).code).toBeNull();
  expect(answered).toHaveLength(4);
  killed.resolve();
  expect(await belayHere(line, options)).toMatchObject({ code: 0 });
  const rows = jsonLines({ stdout: readFileSync(join(folder, "belay-eval/killed/results.jsonl"), "utf8") });
  expect(rows.map(({ score }) => score)).toEqual(Array(6).fill(1));
  expect(rows.some(({ resumes }) => resumes > 0)).toBe(true);
  // Eight requests, and the two that were in flight once more.
  expect(server.requests.length).toBe(10);
  const askedLater = server.requests.slice(6).map(({ sent }) => sent);
  expect(askedLater.filter((sent) => answered.includes(sent))).toEqual([]);
});

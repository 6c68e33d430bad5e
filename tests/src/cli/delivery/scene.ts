import { readFileSync } from "node:fs";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { type BatchServer, type BatchServerOptions, startBatchServer } from "../../../support/batch-server/index.ts";
import { DELIVERY_ENV } from "../../../support/delivery.ts";
import { folderWith, type Tree } from "../../../support/tree.ts";
import { belayHere } from "../in-process.ts";

/** A folder in which lines are typed, and a server that takes their calls by batches. */
export async function deliveryLines(options: BatchServerOptions = {}, tree: Tree = {}) {
  const folder = folderWith({ "ask.js": ASK, "in.jsonl": inputs(3), ...tree });
  const server: BatchServer = await startBatchServer({
    answer: ({ prompt }) => ({ text: prompt.toUpperCase(), usage: { prompt: 7, completion: 3 } }),
    ...options,
  });
  onTestFinished(() => server.close());
  const home = join(folder, "home");
  const env = {
    ...DELIVERY_ENV,
    ...{ BELAY_BASE_URL: server.baseUrl("openai-completions"), BELAY_MODEL: "local/m", BELAY_DELIVERY: "batch" },
    ...{ BELAY_API_KEY_ENV: "OPENAI_API_KEY", XDG_CONFIG_HOME: join(folder, "config") },
  };
  return {
    ...{ folder, server, home, env },
    type: (args: readonly string[], more: Readonly<Record<string, string>> = {}) =>
      belayHere(args, { cwd: folder, home, env: { ...env, ...more } }),
    read: (file: string) => readFileSync(join(folder, file), "utf8"),
  };
}

const ASK = 'await llm_query("p" + job.n, { tools: [] })';

const inputs = (count: number) =>
  Array.from({ length: count }, (_, n) => `${JSON.stringify({ id: `j${n}`, n })}\n`).join("");

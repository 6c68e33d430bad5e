import { readFileSync } from "node:fs";
import { join } from "node:path";
import { onTestFinished, vi } from "vitest";
import { type ModelScript, type ModelServer, startModelServer } from "../../../support/model-server.ts";
import { folderWith, type Tree } from "../../../support/tree.ts";
import { belayHere } from "../in-process.ts";

/** A folder with these files in which lines are typed, and the model that their sub-calls ask. */
export async function scene(tree: Tree, script: ModelScript = ({ prompt }) => ({ text: `label of ${prompt}` })) {
  const folder = folderWith({ "once.js": "job", "ask.js": ASK, ...tree });
  const server: ModelServer = await startModelServer(script);
  onTestFinished(() => server.close());
  const env = { BELAY_BASE_URL: server.url, BELAY_MODEL: "local/m", XDG_CONFIG_HOME: join(folder, "config") };
  const home = join(folder, "home");
  return {
    folder,
    server,
    home,
    type: (args: readonly string[], input = "") => belayHere(args, { cwd: folder, home, env, input }),
    lines: (file: string) => linesIn(readFileSync(join(folder, file), "utf8")),
  };
}

/** Has a model `mine/m` with a price, which this server answers. A request may cost $0.0205; one of 1,000 tokens each way costs $0.006. */
export function priced({ url }: ModelServer): readonly string[] {
  const cost = { input: 1, output: 5, cacheRead: 0, cacheWrite: 0 };
  const mine = { baseUrl: url, api: "openai-completions", apiKey: "sk-test", models: [{ id: "m", cost }] };
  vi.stubEnv("PI_CODING_AGENT_DIR", folderWith({ "models.json": JSON.stringify({ providers: { mine } }) }));
  onTestFinished(() => void vi.unstubAllEnvs());
  return ["--base-url", ""];
}

export const DEAR = { text: "ok", usage: { prompt: 1000, completion: 1000 } };

const ASK = `const label = await llm_query(job.text, { tools: [] });
if (job.text === "bad") throw new Error("no label");
label`;

/** A line of results. */
export interface Line {
  readonly job: string;
  readonly status: string;
  readonly n: number;
  readonly result: unknown;
  readonly resumed: number;
}

export const linesIn = (text: string): Line[] =>
  text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));

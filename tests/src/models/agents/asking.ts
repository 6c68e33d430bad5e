import { writeFileSync } from "node:fs";
import { agentModels } from "../../../../src/models/agents/index.ts";
import { WORK_ON } from "../../../../src/platform/signals.ts";
import { scriptedAgent } from "../../../support/agents/agents.ts";

// A Belay in small: it sends one request to an agent, and writes the answer to a file. SIGTERM ends
// its agent, SIGHUP leaves it at work.

const [folder = "", session = "", id = "", prompt = "", answer = ""] = process.argv.slice(2);
const ended = new AbortController();
process.on("SIGTERM", () => ended.abort());
process.on("SIGHUP", () => ended.abort(WORK_ON));
const models = agentModels({
  name: "fake",
  command: scriptedAgent(),
  key: [session, id],
  folder,
  model: null,
  schema: null,
  cwd: folder,
  worktree: false,
  mostTries: 1,
});
const request = {
  system: null,
  messages: [{ role: "user" as const, text: prompt }],
  tools: [],
  maxTokens: 100,
  timeoutMs: 60_000,
  cache: "none" as const,
};
writeFileSync(answer, JSON.stringify(await models.resolve(null).complete(request, ended.signal)));

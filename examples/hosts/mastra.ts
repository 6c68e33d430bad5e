// Mastra with Belay's tools.
//
//   npm install @mastra/core belay-rlm
//   OPENAI_BASE_URL=… OPENAI_API_KEY=… MODEL=… node mastra.ts "How many files mention retries?"
//
// If it is killed, the same line goes on: what a cell had asked models before is not asked for again.
import { randomUUID } from "node:crypto";
import { Agent } from "@mastra/core/agent";
import { createTool } from "@mastra/core/tools";
import { openTools } from "belay-rlm/tools";

const { OPENAI_BASE_URL: baseUrl = "", OPENAI_API_KEY: apiKey = "", MODEL: model = "" } = process.env;
const kept = { store: "belay-store", session: "mastra" };
const belay = await openTools({ ...kept, model: `local/${model}`, baseUrl, apiKeyEnv: "OPENAI_API_KEY" });

// A call has the same answer whenever it is made again under its key. A host that keeps its messages keeps the run's name with them.
const run = process.env.RUN ?? randomUUID();

const tools = Object.fromEntries(
  belay.map(({ name, description, parameters, execute }) => [
    name,
    createTool({
      id: name,
      description,
      inputSchema: parameters,
      execute: (args, { abortSignal: signal, agent }) => {
        const idempotencyKey = agent && `${run}/${agent.messages.length}/${agent.toolCallId}`;
        return execute(args, { signal, idempotencyKey });
      },
    }),
  ]),
);
const agent = new Agent({
  id: "reader",
  name: "reader",
  tools,
  instructions: "Load the folder . with rlm_load, then answer by cells of rlm_exec.",
  model: { providerId: "local", modelId: model, url: baseUrl, apiKey },
});
const answer = await agent.stream(process.argv[2] ?? "", { maxSteps: 20 });
console.log(await answer.text);
await belay.close();

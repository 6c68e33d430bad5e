// Mastra with Belay's tools.
//
//   npm install @mastra/core @ai-sdk/openai-compatible belay-rlm
//   OPENAI_BASE_URL=… OPENAI_API_KEY=… MODEL=… node mastra.js "How many files mention retries?"
//
// If it is killed, the same line goes on: what a cell had asked models before is not asked for again.
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { Agent } from "@mastra/core/agent";
import { createTool } from "@mastra/core/tools";
import { openTools } from "belay-rlm/tools";

const { OPENAI_BASE_URL: baseUrl, OPENAI_API_KEY: apiKey, MODEL: model } = process.env;
const kept = { store: "belay-store", session: "mastra" };
const belay = await openTools({ ...kept, model: `local/${model}`, baseUrl, apiKeyEnv: "OPENAI_API_KEY" });

const tools = Object.fromEntries(
  belay.map(({ name, description, parameters, execute }) => [
    name,
    createTool({
      ...{ id: name, description, inputSchema: parameters },
      execute: (args, { abortSignal: signal } = {}) => execute(args, { signal }),
    }),
  ]),
);
const agent = new Agent({
  ...{ id: "reader", name: "reader", tools },
  instructions: "Load the folder . with rlm_load, then answer by cells of rlm_exec.",
  model: createOpenAICompatible({ name: "local", baseURL: baseUrl, apiKey })(model),
});
const answer = await agent.stream(process.argv[2], { maxSteps: 20 });
console.log(await answer.text);
await belay[Symbol.asyncDispose]();

// The AI SDK with Belay's tools.
//
//   npm install ai @ai-sdk/openai-compatible belay-rlm
//   OPENAI_BASE_URL=… OPENAI_API_KEY=… MODEL=… node ai-sdk.js "How many files mention retries?"
//
// If it is killed, the same line goes on: what a cell had asked models before is not asked for again.
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { jsonSchema, stepCountIs, streamText, tool } from "ai";
import { openTools } from "belay-rlm/tools";

const { OPENAI_BASE_URL: baseUrl, OPENAI_API_KEY: apiKey, MODEL: model } = process.env;
const kept = { store: "belay-store", session: "ai-sdk" };
const belay = await openTools({ ...kept, model: `local/${model}`, baseUrl, apiKeyEnv: "OPENAI_API_KEY" });

const tools = Object.fromEntries(
  belay.map(({ name, description, parameters, execute }) => [
    name,
    tool({
      description,
      inputSchema: jsonSchema(parameters),
      execute: (args, { abortSignal: signal }) => execute(args, { signal }),
    }),
  ]),
);
const provider = createOpenAICompatible({ name: "local", baseURL: baseUrl, apiKey });
const answer = streamText({
  model: provider(model),
  system: "Load the folder . with rlm_load, then answer by cells of rlm_exec.",
  prompt: process.argv[2],
  tools,
  stopWhen: stepCountIs(20),
});
console.log(await answer.text);
await belay[Symbol.asyncDispose]();

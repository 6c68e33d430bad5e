// The AI SDK with Belay's tools.
//
//   npm install ai @ai-sdk/openai-compatible belay-rlm
//   OPENAI_BASE_URL=… OPENAI_API_KEY=… MODEL=… node ai-sdk.ts "How many files mention retries?"
//
// If it is killed, the same line goes on: what a cell had asked models before is not asked for again.
import { randomUUID } from "node:crypto";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { jsonSchema, stepCountIs, streamText, tool } from "ai";
import { openTools } from "belay-rlm/tools";

const { OPENAI_BASE_URL: baseUrl = "", OPENAI_API_KEY: apiKey = "", MODEL: model = "" } = process.env;
const kept = { store: "belay-store", session: "ai-sdk" };
const belay = await openTools({ ...kept, model: `local/${model}`, baseUrl, apiKeyEnv: "OPENAI_API_KEY" });

// A call has the same answer whenever it is made again under its key. The model's id of a call would not do alone: some servers give one
// id to many calls. A host that keeps its messages keeps the run's name with them.
const run = process.env.RUN ?? randomUUID();
const counts = new Map<number, number>();
function keyOf(message: number): string {
  const position = counts.get(message) ?? 0;
  counts.set(message, position + 1);
  return `${run}/${message}/${position}`;
}

const tools = Object.fromEntries(
  belay.map(({ name, description, parameters, execute }) => [
    name,
    tool({
      description,
      inputSchema: jsonSchema(parameters),
      execute: (args, { abortSignal: signal, messages }) =>
        execute(args, { signal, idempotencyKey: keyOf(messages.length) }),
    }),
  ]),
);
const provider = createOpenAICompatible({ name: "local", baseURL: baseUrl, apiKey });
const answer = streamText({
  model: provider(model),
  system: "Load the folder . with rlm_load, then answer by cells of rlm_exec.",
  prompt: process.argv[2] ?? "",
  tools,
  stopWhen: stepCountIs(20),
});
console.log(await answer.text);
await belay.close();

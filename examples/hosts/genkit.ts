// Genkit with Belay's tools.
//
//   npm install genkit @genkit-ai/compat-oai belay-rlm
//   OPENAI_BASE_URL=… OPENAI_API_KEY=… MODEL=… node genkit.ts "How many files mention retries?"
//
// If it is killed, the same line goes on: what a cell had asked models before is not asked for again.
import { openAICompatible } from "@genkit-ai/compat-oai";
import { openTools } from "belay-rlm/tools";
import { genkit } from "genkit";

const { OPENAI_BASE_URL: baseUrl = "", OPENAI_API_KEY: apiKey = "", MODEL: model = "" } = process.env;
const kept = { store: "belay-store", session: "genkit" };
const belay = await openTools({ ...kept, model: `local/${model}`, baseUrl, apiKeyEnv: "OPENAI_API_KEY" });
const ai = genkit({ plugins: [openAICompatible({ name: "local", apiKey, baseURL: baseUrl })] });

// Genkit tells a tool no id of its call, so no idempotency key can be built.
const tools = belay.map(({ name, description, parameters, execute }) =>
  ai.defineTool({ name, description, inputJsonSchema: parameters }, (args, { abortSignal: signal }) =>
    execute(args, { signal }),
  ),
);
const { response } = ai.generateStream({
  model: `local/${model}`,
  system: "Load the folder . with rlm_load, then answer by cells of rlm_exec.",
  prompt: process.argv[2] ?? "",
  maxTurns: 20,
  tools,
});
console.log((await response).text);
await belay.close();

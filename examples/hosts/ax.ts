// Ax with Belay's tools.
//
//   npm install @ax-llm/ax belay-rlm
//   OPENAI_BASE_URL=… OPENAI_API_KEY=… MODEL=… node ax.ts "How many files mention retries?"
//
// If it is killed, the same line goes on: what a cell had asked models before is not asked for again.
import { type AxAIOpenAIModel, type AxFunction, ai, ax } from "@ax-llm/ax";
import { openTools } from "belay-rlm/tools";

const { OPENAI_BASE_URL: baseUrl = "", OPENAI_API_KEY: apiKey = "", MODEL: model = "" } = process.env;
const kept = { store: "belay-store", session: "ax" };
const belay = await openTools({ ...kept, model: `local/${model}`, baseUrl, apiKeyEnv: "OPENAI_API_KEY" });

// Ax tells a function no id of its call, so no idempotency key can be built.
const functions = belay.map(
  ({ name, description, parameters, execute }): AxFunction => ({
    name,
    description,
    // Its types want a description of each parameter, and its requests do not.
    parameters: JSON.parse(JSON.stringify(parameters)),
    func: (args, { abortSignal: signal } = {}) => execute(args, { signal }),
  }),
);
const reader = ax(
  'question:string "load the folder . with rlm_load, then answer by cells of rlm_exec" -> answer:string',
);
const llm = ai({ name: "openai", apiKey, apiURL: baseUrl, config: { model: model as AxAIOpenAIModel } });
const question = process.argv[2] ?? "";
const { answer } = await reader.forward(llm, { question }, { functions, stream: true, maxSteps: 20 });
console.log(answer);
await belay.close();

// OpenAI's Agents SDK with Belay's tools.
//
//   npm install @openai/agents openai belay-rlm
//   OPENAI_BASE_URL=… OPENAI_API_KEY=… MODEL=… node openai-agents.ts "How many files mention retries?"
//
// If it is killed, the same line goes on: what a cell had asked models before is not asked for again.
import { randomUUID } from "node:crypto";
import { Agent, OpenAIChatCompletionsModel, run, setTracingDisabled, tool } from "@openai/agents";
import { openTools } from "belay-rlm/tools";
import OpenAI from "openai";

const { OPENAI_BASE_URL: baseUrl = "", MODEL: model = "" } = process.env;
const kept = { store: "belay-store", session: "openai-agents" };
const belay = await openTools({ ...kept, model: `local/${model}`, baseUrl, apiKeyEnv: "OPENAI_API_KEY" });

// A call has the same answer whenever it is made again under its key. A host that keeps its messages keeps the run's name with them.
const named = process.env.RUN ?? randomUUID();

const tools = belay.map(({ name, description, parameters, execute }) =>
  tool({
    name,
    description,
    parameters,
    strict: false,
    execute: (args, context, details) => {
      const { signal, toolCall } = details ?? {};
      const idempotencyKey = toolCall && `${named}/${context?.usage.requests}/${toolCall.callId}`;
      return execute(args, { signal, idempotencyKey });
    },
  }),
);
setTracingDisabled(true);
const agent = new Agent({
  name: "reader",
  instructions: "Load the folder . with rlm_load, then answer by cells of rlm_exec.",
  model: new OpenAIChatCompletionsModel(new OpenAI(), model),
  tools,
});
const answer = await run(agent, process.argv[2] ?? "", { stream: true, maxTurns: 20 });
await answer.completed;
console.log(answer.finalOutput);
await belay.close();

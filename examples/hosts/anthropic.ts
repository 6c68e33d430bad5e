// The tool runner of Anthropic's SDK with Belay's tools.
//
//   npm install @anthropic-ai/sdk belay-rlm
//   ANTHROPIC_API_KEY=… AGENT_MODEL=… OPENAI_BASE_URL=… OPENAI_API_KEY=… MODEL=… node anthropic.ts "How many files mention retries?"
//
// AGENT_MODEL writes the cells, and they ask MODEL. If it is killed, the same line goes on: what a cell had asked models before is not
// asked for again.
import { randomUUID } from "node:crypto";
import Anthropic from "@anthropic-ai/sdk";
import { betaTool } from "@anthropic-ai/sdk/helpers/beta/json-schema";
import { openTools } from "belay-rlm/tools";

const { OPENAI_BASE_URL: baseUrl = "", MODEL: cellModel = "", AGENT_MODEL: model = "" } = process.env;
const kept = { store: "belay-store", session: "anthropic" };
const belay = await openTools({ ...kept, model: `local/${cellModel}`, baseUrl, apiKeyEnv: "OPENAI_API_KEY" });

// A call has the same answer whenever it is made again under its key. A host that keeps its messages keeps the run's name with them.
const run = process.env.RUN ?? randomUUID();

const tools = belay.map(({ name, description, parameters, execute }) =>
  betaTool({
    name,
    description,
    inputSchema: parameters,
    run: async (args, context) => {
      const idempotencyKey = context && `${run}/${context.toolUse.id}`;
      return JSON.stringify(await execute(args, { signal: context?.signal ?? undefined, idempotencyKey }));
    },
  }),
);
const answer = await new Anthropic().beta.messages.toolRunner({
  model,
  max_tokens: 4096,
  max_iterations: 20,
  // Each request has the whole conversation, so that a compatible server will do.
  thread: false,
  system: "Load the folder . with rlm_load, then answer by cells of rlm_exec.",
  messages: [{ role: "user", content: process.argv[2] ?? "" }],
  tools,
});
for (const block of answer.content) if (block.type === "text") console.log(block.text);
await belay.close();

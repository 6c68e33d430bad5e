// AgentKit with Belay's tools.
//
//   npm install @inngest/agent-kit inngest zod belay-rlm
//   OPENAI_BASE_URL=… OPENAI_API_KEY=… MODEL=… node agentkit.ts "How many files mention retries?"
//
// If it is killed, the same line goes on: what a cell had asked models before is not asked for again.
import { createAgent, createNetwork, createTool, openai } from "@inngest/agent-kit";
import { openTools } from "belay-rlm/tools";
import { fromJSONSchema } from "zod";

const { OPENAI_BASE_URL: baseUrl = "", OPENAI_API_KEY: apiKey = "", MODEL: model = "" } = process.env;
const kept = { store: "belay-store", session: "agentkit" };
const belay = await openTools({ ...kept, model: `local/${model}`, baseUrl, apiKeyEnv: "OPENAI_API_KEY" });

// AgentKit tells a tool no id of its call, so no idempotency key can be built. Some parameters may be left out: the schema is not strict.
const tools = belay.map(({ name, description, parameters, execute }) => ({
  ...createTool({ name, description, parameters: fromJSONSchema(parameters), handler: (args) => execute(args) }),
  strict: false,
}));
const agent = createAgent({
  name: "reader",
  system: "Load the folder . with rlm_load, then answer by cells of rlm_exec.",
  model: openai({ model, apiKey, baseUrl: `${baseUrl}/` }),
  tools,
});
// A network keeps what was said before: an agent alone sees its newest call only.
const network = createNetwork({
  name: "reading",
  agents: [agent],
  maxIter: 20,
  router: ({ lastResult }) => (lastResult?.toolCalls.length === 0 ? undefined : agent),
});
const { state } = await network.run(process.argv[2] ?? "");
for (const message of state.results.at(-1)?.output ?? []) if (message.type === "text") console.log(message.content);
await belay.close();

// LangChain with Belay's tools.
//
//   npm install langchain @langchain/core @langchain/openai belay-rlm
//   OPENAI_BASE_URL=… OPENAI_API_KEY=… MODEL=… node langchain.ts "How many files mention retries?"
//
// If it is killed, the same line goes on: what a cell had asked models before is not asked for again.
import { randomUUID } from "node:crypto";
import { ChatOpenAI } from "@langchain/openai";
import { openTools } from "belay-rlm/tools";
import { createAgent, type ToolRuntime, tool } from "langchain";

const { OPENAI_BASE_URL: baseUrl = "", OPENAI_API_KEY: apiKey = "", MODEL: model = "" } = process.env;
const kept = { store: "belay-store", session: "langchain" };
const belay = await openTools({ ...kept, model: `local/${model}`, baseUrl, apiKeyEnv: "OPENAI_API_KEY" });

// A call has the same answer whenever it is made again under its key. A host that keeps its messages keeps the run's name with them.
const run = process.env.RUN ?? randomUUID();

const tools = belay.map(({ name, description, parameters: schema, execute }) =>
  tool(
    async (args: unknown, { signal, state, toolCallId }: ToolRuntime<{ messages: unknown[] }>) => {
      const idempotencyKey = `${run}/${state.messages.length}/${toolCallId}`;
      return JSON.stringify(await execute(args, { signal, idempotencyKey }));
    },
    { name, description, schema },
  ),
);
const agent = createAgent({
  model: new ChatOpenAI({ model, apiKey, configuration: { baseURL: baseUrl } }),
  systemPrompt: "Load the folder . with rlm_load, then answer by cells of rlm_exec.",
  tools,
});
const question = { messages: [{ role: "user", content: process.argv[2] ?? "" }] };
for await (const [message] of await agent.stream(question, { streamMode: "messages" })) {
  if (message.getType() === "ai") process.stdout.write(message.text);
}
process.stdout.write("\n");
await belay.close();

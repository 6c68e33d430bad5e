// Google's Agent Development Kit with Belay's tools.
//
//   npm install @google/adk belay-rlm
//   GEMINI_API_KEY=… AGENT_MODEL=… OPENAI_BASE_URL=… OPENAI_API_KEY=… MODEL=… node adk.ts "How many files mention retries?"
//
// AGENT_MODEL writes the cells, and they ask MODEL. If it is killed, the same line goes on: what a cell had asked models before is not
// asked for again.
import { randomUUID } from "node:crypto";
import { BaseTool, InMemoryRunner, LlmAgent, type RunAsyncToolRequest, StreamingMode } from "@google/adk";
import { openTools, type SessionTool } from "belay-rlm/tools";

const { OPENAI_BASE_URL: baseUrl = "", MODEL: cellModel = "", AGENT_MODEL: model = "" } = process.env;
const kept = { store: "belay-store", session: "adk" };
const belay = await openTools({ ...kept, model: `local/${cellModel}`, baseUrl, apiKeyEnv: "OPENAI_API_KEY" });

// A call has the same answer whenever it is made again under its key. A host that keeps its messages keeps the run's name with them.
const run = process.env.RUN ?? randomUUID();

class BelayTool extends BaseTool {
  readonly #tool: SessionTool;

  constructor(tool: SessionTool) {
    super(tool);
    this.#tool = tool;
  }

  override _getDeclaration() {
    const { name, description, parameters } = this.#tool;
    return { name, description, parametersJsonSchema: parameters };
  }

  override runAsync({ args, toolContext }: RunAsyncToolRequest) {
    const { abortSignal: signal, functionCallId } = toolContext;
    const idempotencyKey = functionCallId && `${run}/${functionCallId}`;
    return this.#tool.execute(args, { signal, idempotencyKey });
  }
}

const agent = new LlmAgent({
  name: "reader",
  model,
  instruction: "Load the folder . with rlm_load, then answer by cells of rlm_exec.",
  tools: belay.map((tool) => new BelayTool(tool)),
});
const runner = new InMemoryRunner({ agent });
const newMessage = { role: "user", parts: [{ text: process.argv[2] ?? "" }] };
const runConfig = { streamingMode: StreamingMode.SSE };
for await (const { partial, content } of runner.runEphemeral({ userId: "user", newMessage, runConfig })) {
  if (!partial) for (const { text } of content?.parts ?? []) if (text) console.log(text);
}
await belay.close();

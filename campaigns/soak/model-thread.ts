import { parentPort } from "node:worker_threads";
import { type ScriptedAnswer, startModelServer } from "../../tests/support/model-server.ts";

// The model of a soak, in a thread of its own: what it remembers of its requests is not on the heap that is measured.

const CELL = 'answer(await llm_query("plain", { tools: [] }))';

// It lists the model: a window that is not known would be asked for again every ten seconds, over connections that come and go.
const server = await startModelServer(
  ({ body }) => {
    const question = String(body.messages.find(({ role }) => role === "user")?.content).split("\n", 1)[0];
    if (question === "ask") return cell(CELL);
    return question === "child" ? cell("answer(P.length)") : { text: "ok" };
  },
  ["m"],
);
parentPort?.postMessage(server.url);

function cell(code: string): ScriptedAnswer {
  return { tools: [{ id: "use", name: "rlm_exec", arguments: { code } }] };
}

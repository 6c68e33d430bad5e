import { parentPort, workerData } from "node:worker_threads";
import { type ScriptedAnswer, startModelServer } from "../tests/support/model-server.ts";

// The model of the asks that are measured, in a thread of its own. Sent anything, it tells when requests came and went, in ms
// since the epoch.
const { turns, holdMs }: { turns: number; holdMs: number } = workerData;
const server = await startModelServer(({ body }) => {
  const first = body.messages.find(({ role }) => role === "user")?.content;
  const done = body.messages.filter(({ role }) => role === "assistant").length;
  return replyTo(String(first).split("\n", 1)[0] ?? "", done);
});
const origin = performance.timeOrigin;
parentPort?.on("message", () => {
  parentPort?.postMessage(server.requests.map(({ at, ended }) => [origin + at, origin + (ended ?? at)]));
});
parentPort?.postMessage(server.url);

function replyTo(question: string, done: number): ScriptedAnswer {
  switch (question) {
    case "turns":
      return cell(done < turns ? `print(${done})` : "answer(1 + 1)");
    case "child":
      return cell("answer(P.length)");
    case "hold":
      return done === 0 ? cell("P.length") : { text: "held", delayMs: holdMs };
    default:
      return { text: "ok" };
  }
}

function cell(code: string): ScriptedAnswer {
  return { tools: [{ id: "use", name: "rlm_exec", arguments: { code } }] };
}

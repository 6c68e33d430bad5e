import { parentPort } from "node:worker_threads";
import { messageOf } from "../../platform/errors.ts";
import { perform, type TaskAnswer, type TaskRequest } from "./tasks.ts";

// The thread of `task-thread.ts`: carries out one task at a time, and is ended when one takes too long.
const port = parentPort;
if (!port) throw new Error("this module is the entry of a thread");

port.on("message", async (request: TaskRequest) => port.postMessage(await answerOf(request)));
port.postMessage("ready");

async function answerOf(request: TaskRequest): Promise<TaskAnswer> {
  try {
    return { ok: true, value: await perform(request) };
  } catch (error) {
    return { ok: false, message: messageOf(error) };
  }
}

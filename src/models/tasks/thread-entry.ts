import { parentPort } from "node:worker_threads";
import { channelOfPort, serveCaller } from "../../../runtime/index.ts";
import { perform, type TaskRequest } from "./tasks.ts";

// The thread of `task-thread.ts`: carries out one task at a time, and is ended when one takes too
// long.
serveCaller<TaskRequest, unknown>(channelOfPort(parentPort), { answer: perform });

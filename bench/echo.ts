import { parentPort } from "node:worker_threads";

// Answers every message with itself: what a round trip to a thread costs without any work.
parentPort?.on("message", (message: unknown) => parentPort?.postMessage(message));

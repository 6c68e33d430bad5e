import { appendFileSync } from "node:fs";
import { createServer } from "node:http";
import { openSession } from "../../src/index.ts";
import type { SessionsCase } from "./memory.ts";

// Opens sessions, runs their cells, and prints the last envelope. Its argument is the case with its limit. It is built, since a
// process that reads TypeScript takes 40 MB more.

const asked = process.argv[2] ?? "{}";
const { cells, contextMb = 0, waiting = 0, limitMb: memoryMb }: SessionsCase & { limitMb: number } = JSON.parse(asked);
const home = process.env.HOME ?? "";
const options = { memoryMb, store: `${home}/belay/store`, cwd: home, limits: { max_execution_ms: 120_000 } };

const arrived = Promise.withResolvers<void>();
let calls = 0;
const server = createServer(() => ++calls === waiting && arrived.resolve()).listen(0, "127.0.0.1");
await new Promise((resolve) => server.once("listening", resolve));
const address = server.address();
const baseUrl = `http://127.0.0.1:${typeof address === "object" ? address?.port : 0}`;
for (let n = 0; n < waiting; n++) {
  const session = await openSession({ ...options, model: "local/m", baseUrl });
  void session.exec('await llm_query("hold", { tools: [] })');
}
if (waiting > 0) await arrived.promise;

const session = await openSession(options);
const path = `${home}/text.txt`;
// A text that this process made would be in its memory.
for (let mb = 0; mb < contextMb; mb++) appendFileSync(path, "some text\n".repeat(1e5));
if (contextMb > 0) await session.load(path);
let last: unknown;
for (const cell of cells) last = await session.exec(cell);
console.log(JSON.stringify(last));
process.exit();

// Belay as a library: one session, from a load to a failing cell.
//
//   node examples/library-session.ts [PATH]
//
// In a project of your own: import { openSession } from "belay-rlm";
import { openSession } from "../src/index.ts";

const folder = process.argv[2] ?? "examples";

// Contexts are loaded from below `roots` (here the working directory). The session ends with its block.
await using session = await openSession({ memoryMb: 64, limits: { max_execution_ms: 5_000 } });

const { stats } = await session.load(folder);
console.log(`${stats.document_count} documents, ${stats.length_chars} characters`);

// A cell is JavaScript. Its variables are there in the next one.
await session.exec("const functions = find('function \\\\w+').matches.map(([start, end]) => peek(start, end));");
const answer = await session.exec("functions.length");
console.log("functions:", answer.result_json);

// Memory and helpers belong to the session: the host and the cells see the same.
await session.memory.put("limit", 3);
await session.helpers.add("first", "const first = (list) => list.slice(0, memory.get('limit'));");
console.log("first:", (await session.exec("first(functions)")).result_json);

// Text at hand can be loaded too; an append keeps variables, helpers and memory.
await session.loadAppend({ name: "note.txt", text: "One more document." });
console.log("documents:", (await session.exec("stats().docs")).result_json);

// What goes wrong in a cell is a value, with a code and a cure; the session goes on.
const failed = await session.exec("fetch('https://example.org')");
if (!failed.success) console.log(`${failed.error_code}: ${failed.error_message}\n  ${failed.suggestion}`);
const endless = await session.exec("while (true);", { limits: { max_execution_ms: 200 } });
if (!endless.success) console.log(`${endless.error_code} after ${endless.limits_applied.max_execution_ms} ms`);
console.log("still there:", (await session.exec("functions.length")).result_json);

import { silenceSqliteWarning } from "../../src/platform/sqlite-warning.ts";
import { CRASH_VARIABLE, crashingStores, crashPointOf } from "./crash/point.ts";

// A program with an agent: it opens the tools of a kept session, makes the calls of its arguments, and prints each answer as a line. Its
// store kills it where a variable says.

silenceSqliteWarning();
const { openSessionWith } = await import("../../src/session/session.ts");
const { openStore } = await import("../../src/store/index.ts");
const { openTools } = await import("../../src/tools/open-tools.ts");

const [folder = "", baseUrl = "", calls = "[]"] = process.argv.slice(2);
const options = { session: "agent", model: "local/m", baseUrl, apiKeyEnv: "K" };
const point = process.env[CRASH_VARIABLE];
const store = point === undefined ? null : crashingStores(crashPointOf(point))(await openStore(folder));
await using session = store ? await openSessionWith(options, { store }) : undefined;
await using tools = await openTools(session ?? { ...options, store: folder });
for (const [name, args, given] of JSON.parse(calls)) {
  const answer = await tools.find((tool) => tool.name === name)?.execute(args, given);
  console.log(JSON.stringify(answer));
}
await store?.[Symbol.asyncDispose]();

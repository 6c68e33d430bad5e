import { openTools } from "../../src/tools/open-tools.ts";

// A program with an agent: it opens the tools of a kept session, makes the calls of its arguments, and prints each answer as a line.

const [store = "", baseUrl = "", calls = "[]"] = process.argv.slice(2);
await using tools = await openTools({ store, session: "agent", model: "local/m", baseUrl, apiKeyEnv: "K" });
for (const [name, args] of JSON.parse(calls)) {
  const answer = await tools.find((tool) => tool.name === name)?.execute(args);
  console.log(JSON.stringify(answer));
}

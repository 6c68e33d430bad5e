import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { tools } from "../src/tools/pi-tools.ts";
import { TOOLS_BUDGET, toolTokens } from "./docs/agent-tools.ts";
import { generatedFiles } from "./docs/files.ts";
import { ROOT } from "./process.ts";

for (const [path, content] of await generatedFiles()) {
  await writeFile(join(ROOT, path), content);
  console.log(path);
}

// The pictures of the page take a Chromium and half a minute.
if (process.argv.includes("--pictures")) await import("./view-pictures.ts");

// Only users of workflows see rlm_workflow.
const usual = tools.filter(({ name }) => name !== "rlm_workflow");
const tokens = usual.reduce((sum, tool) => sum + toolTokens(tool), 0);
console.log(`${tokens} of ${TOOLS_BUDGET} tokens are in the texts of ${usual.length} tools`);
if (tokens > TOOLS_BUDGET) process.exitCode = 1;

import { builtins } from "../../builtins/index.ts";
import { apiFile } from "./api.ts";
import { declarationsFile } from "./declarations.ts";
import { runExamples } from "./examples.ts";
import { referenceFile } from "./reference.ts";
import { settingsPages } from "./settings-tables.ts";

/** Files that are generated from the definitions, whole or in part: contents by path from the root of the checkout. */
export async function generatedFiles(): Promise<ReadonlyMap<string, string>> {
  return new Map([
    ["docs/builtins.md", referenceFile(builtins, await runExamples(builtins))],
    ["docs/api.md", apiFile()],
    ["belay.d.ts", declarationsFile(builtins)],
    ...settingsPages(),
  ]);
}

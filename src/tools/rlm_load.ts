import { Type } from "typebox";
import { defineTool } from "./define.ts";
import { checkPath, loadedFrom, PATH } from "./load-path.ts";

export const rlm_load = defineTool({
  name: "rlm_load",
  label: "RLM load",
  description:
    "Load a file or folder (up to 100 MB of text) as the context P, to explore with rlm_exec. Resets variables, helpers, memory and budget. Returns stats.",
  promptSnippet: "Load a large file or folder as context P",
  guidelines: ["For material too large to read (repositories, logs, books) use rlm_load, then rlm_exec."],
  parameters: Type.Object({ path: PATH }),
  check: ({ path }, { cwd }) => checkPath(path, cwd),
  run: (session, { path }, { signal }) => session.load(path, { signal }),
  recorded: (_args, record) => loadedFrom(record),
});

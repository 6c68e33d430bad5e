import { Type } from "typebox";
import { defineTool } from "./define.ts";
import { loadedFrom, PATH, sourceAt } from "./load-path.ts";

export const rlm_load = defineTool({
  name: "rlm_load",
  label: "RLM load",
  description:
    "Load a file or folder (up to 100 MB of text) as the context P, to explore with rlm_exec. Resets variables, helpers, memory and budget. Returns stats.",
  promptSnippet: "Load a large file or folder as context P",
  guidelines: ["For material too large to read (repositories, logs, books) use rlm_load, then rlm_exec."],
  parameters: Type.Object({ path: PATH }),
  run: (session, { path }, { cwd, signal }) => session.load(sourceAt(path, cwd), { signal }),
  recorded: (_args, record) => loadedFrom(record),
});

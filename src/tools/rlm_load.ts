import { Type } from "typebox";
import { defineTool } from "./define.ts";
import { loadedFrom, PATH, shortened, sourceAt } from "./load-path.ts";

export const rlm_load = defineTool({
  name: "rlm_load",
  label: "RLM load",
  description:
    "Load a file or folder (up to 100 MB of text) as the context P, to explore with rlm_exec. Resets variables, helpers, memory and budget. Returns stats.",
  promptSnippet: "Load a large file or folder as context P",
  guidelines: ["For material too large to read (repositories, logs, books) use rlm_load, then rlm_exec."],
  parameters: Type.Object({ path: PATH }),
  async run(session, { path }, { cwd, signal }) {
    const { success, stats } = await session.load(sourceAt(path, cwd), { signal });
    return { success, stats: shortened(stats) };
  },
  recorded: (_args, record) => loadedFrom(record),
  failureFields: { stats: null },
});

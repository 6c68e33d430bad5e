import { defineTool } from "./define.ts";
import { loadedFrom, PATH, shortened, sourceAt } from "./load-path.ts";

export const rlm_load_append = defineTool({
  name: "rlm_load_append",
  label: "RLM append",
  description: "Add a file or folder to the context P. Keeps variables, helpers, memory and budget. Returns stats.",
  promptSnippet: "Add a file or folder to context P",
  parameters: { type: "object", required: ["path"], properties: { path: PATH } },
  async run(session, { path }, { cwd, signal }) {
    const { success, stats } = await session.loadAppend(sourceAt(path, cwd), { signal });
    return { success, stats: shortened(stats) };
  },
  recorded: (_args, record) => loadedFrom(record),
  failureFields: { stats: null },
});

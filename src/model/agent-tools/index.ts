import { globTool } from "./glob.ts";
import { grepTool } from "./grep.ts";
import type { ReadableRoots } from "./places.ts";
import { readFileTool } from "./read_file.ts";
import type { AgentTool } from "./tool.ts";

export type { ReadableRoots } from "./places.ts";
export type { AgentTool, ToolAnswer } from "./tool.ts";

/**
 * The tools that every sub-agent may have: `read_file`, `glob` and `grep`, confined to the roots, without what the
 * loader would skip. They need no program on the machine. The roots are opened at each call.
 */
export function readOnlyTools(readable: ReadableRoots): AgentTool[] {
  return [readFileTool(readable), globTool(readable), grepTool(readable)];
}

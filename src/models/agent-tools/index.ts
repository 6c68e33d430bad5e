import type { ReadableRoots } from "./allowed-paths.ts";
import { glob } from "./glob.ts";
import { grep } from "./grep.ts";
import { listDir } from "./list_dir.ts";
import { readFile } from "./read_file.ts";
import { type AgentTool, type ReadTool, within } from "./tool.ts";

export type { ReadableRoots } from "./allowed-paths.ts";
export type { AgentTool, ToolAnswer } from "./tool.ts";

/**
 * The tools that every sub-agent may have. They need no program on the machine, and skip what the
 * loader skips.
 */
export const READ_TOOLS: readonly ReadTool[] = [readFile, listDir, glob, grep];

/** These tools, confined to the roots. */
export function readOnlyTools(readable: ReadableRoots): AgentTool[] {
  return READ_TOOLS.map((tool) => within(readable, tool));
}

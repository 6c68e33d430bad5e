import { createBashTool, createEditTool, createWriteTool } from "@mariozechner/pi-coding-agent";
import type { Json } from "../../../runtime/index.ts";
import type { AgentTool } from "../../model/index.ts";

/** A tool of Pi's agent, as far as it is used. */
interface PiTool {
  readonly name: string;
  readonly description: string;
  readonly parameters: object;
}

interface PiToolAnswer {
  readonly content: readonly { readonly type: string; readonly text?: string }[];
}

/** What Pi can lend to sub-agents if the user allows it: its own bash, write and edit, in the project. */
export function lentTools(cwd: string): AgentTool[] {
  const bash = createBashTool(cwd);
  const write = createWriteTool(cwd);
  const edit = createEditTool(cwd);
  return [
    lent(bash, (args, signal) => bash.execute("", { command: "", ...args }, signal)),
    lent(write, (args, signal) => write.execute("", { path: "", content: "", ...args }, signal)),
    lent(edit, (args, signal) => edit.execute("", { path: "", edits: [], ...args }, signal)),
  ];
}

/** Pi's tools reject when they fail. The sub-agent then reads the error's message. */
function lent(
  { name, description, parameters }: PiTool,
  execute: (args: { readonly [name: string]: Json }, signal: AbortSignal) => Promise<PiToolAnswer>,
): AgentTool {
  return {
    name,
    description,
    parameters: JSON.parse(JSON.stringify(parameters)),
    sideEffects: true,
    async run(args, signal) {
      const { content } = await execute(args, signal);
      return { text: content.map(({ text = "" }) => text).join("\n") };
    },
  };
}

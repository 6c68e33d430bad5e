import type { Json } from "../../../runtime/index.ts";
import type { AgentTool } from "../../model/index.ts";
import { fromHost, hostHas } from "../host-functions.ts";

/** A tool of Pi's agent, as far as it is used. */
interface PiTool {
  readonly name: string;
  readonly description: string;
  readonly parameters: object;
}

interface PiToolAnswer {
  readonly content: readonly { readonly type: string; readonly text?: string }[];
}

/** What Pi can lend to sub-agents if the user allows it: its own bash, write and edit in the project, those that it has. */
export function lentTools(cwd: string): AgentTool[] {
  return [
    ...(hostHas("pi-coding-agent", ["createBashTool"]) ? [lentBash(cwd)] : []),
    ...(hostHas("pi-coding-agent", ["createWriteTool"]) ? [lentWrite(cwd)] : []),
    ...(hostHas("pi-coding-agent", ["createEditTool"]) ? [lentEdit(cwd)] : []),
  ];
}

function lentBash(cwd: string): AgentTool {
  const bash = fromHost("pi-coding-agent", "createBashTool")(cwd);
  return lent(bash, (args, signal) => bash.execute("", { command: "", ...args }, signal));
}

function lentWrite(cwd: string): AgentTool {
  const write = fromHost("pi-coding-agent", "createWriteTool")(cwd);
  return lent(write, (args, signal) => write.execute("", { path: "", content: "", ...args }, signal));
}

function lentEdit(cwd: string): AgentTool {
  const edit = fromHost("pi-coding-agent", "createEditTool")(cwd);
  return lent(edit, (args, signal) => edit.execute("", { path: "", edits: [], ...args }, signal));
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

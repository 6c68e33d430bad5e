import { type Json, RlmError } from "../../../runtime/index.ts";
import type { AgentTool } from "../../models/index.ts";
import { messageOf } from "../../platform/errors.ts";
import { jsonOf } from "../../platform/json.ts";
import { fromHost, hostHas } from "../host-functions.ts";

/** The answer of a tool of Pi's agent, as far as it is used. */
type PiToolAnswer = { readonly content: readonly { readonly type: string; readonly text?: string }[] };

/** The tools that Pi can lend to sub-agents if the user allows it: its own bash, write and edit in the project, those that it has. */
export function lentTools(cwd: string): AgentTool[] {
  const bash = lent(
    { name: "bash", description: "Run a bash command in the project's folder. Returns stdout and stderr." },
    () => fromHost("pi-coding-agent", "createBashTool")(cwd),
    (tool, args, signal) => tool.execute("", { command: "", ...args }, signal),
  );
  const write = lent(
    {
      name: "write",
      description: "Write a file. It and its folders are made if missing, and what it held is replaced.",
    },
    () => fromHost("pi-coding-agent", "createWriteTool")(cwd),
    (tool, args, signal) => tool.execute("", { path: "", content: "", ...args }, signal),
  );
  const edit = lent(
    { name: "edit", description: "Replace texts in one file. Each old text must be exact, and occur once." },
    () => fromHost("pi-coding-agent", "createEditTool")(cwd),
    (tool, args, signal) => tool.execute("", { path: "", edits: [], ...args }, signal),
  );
  return [
    ...(hostHas("pi-coding-agent", ["createBashTool"]) ? [bash] : []),
    ...(hostHas("pi-coding-agent", ["createWriteTool"]) ? [write] : []),
    ...(hostHas("pi-coding-agent", ["createEditTool"]) ? [edit] : []),
  ];
}

/**
 * A tool that is made when a sub-agent first has it, so that a host whose tool cannot be made fails that call alone. Pi's
 * tools reject when they fail. The sub-agent then reads the error's message.
 */
export function lent<T extends { readonly parameters: object }>(
  { name, description }: Pick<AgentTool, "name" | "description">,
  make: () => T,
  execute: (tool: T, args: { readonly [name: string]: Json }, signal: AbortSignal) => Promise<PiToolAnswer>,
): AgentTool {
  let made: T | null = null;
  function tool(): T {
    try {
      made ??= make();
      return made;
    } catch (cause) {
      if (cause instanceof RlmError) throw cause;
      const reason = messageOf(cause);
      const suggestion = "Leave the tool out, update the host, or use a Pi that docs/pi.md names.";
      throw new RlmError("host_incompatible", `this host's ${name} cannot be made: ${reason}`, { suggestion, cause });
    }
  }
  return {
    name,
    description,
    get parameters() {
      return jsonOf(tool().parameters);
    },
    sideEffects: true,
    async run(args, signal) {
      const { content } = await execute(tool(), args, signal);
      return { text: content.map(({ text = "" }) => text).join("\n") };
    },
  };
}

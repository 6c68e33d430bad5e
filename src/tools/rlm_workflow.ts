import { LIMITS, MAX_EXEC_LIMITS, RlmError } from "../../runtime/index.ts";
import { homeFolder, userHome } from "../platform/home.ts";
import { emptyEnvelope } from "../session/empty-envelope.ts";
import type { Session } from "../session/index.ts";
import type { WorkflowCell, WorkflowHost, WorkflowPlaces, WorkflowScript } from "../workflow/index.ts";
import { defineTool, JSON_VALUE, type Tool, type ToolCall, unrounded } from "./define.ts";

const WORDS = `Run a workflow: JavaScript that directs many agents. Only if the user asks for a workflow, or for work by many agents.
script begins with export const meta = { name: "…", description: "…", phases: [{ title: "…" }] }, a literal; then plain JavaScript with top-level await, and return gives the result. It has
- agent(prompt, { label, phase, schema, model, effort, agentType, isolation: "worktree" }): one agent; gives its text, with schema (JSON Schema of an object) the value, null if it fails. It sees its prompt alone.
- pipeline(items, ...stages): each item through all stages by itself, stage(previous, item, index); parallel(thunks): all at once, waits for all. What throws becomes null: filter(Boolean).
- phase(title), log(text), args, budget: { total, spent(), remaining() } in tokens.
No imports, files, shell or timers: agents do the work. At most ${LIMITS.workflowAgents} agents. The same call again goes on with what was cut, and pays nothing twice.`;

/** A workflow as a call names it. */
interface Asked {
  readonly script?: string;
  readonly name?: string;
  readonly args?: unknown;
}

const NO_SETTINGS: WorkflowHost = { belayHome: null, models: {}, hasTokens: false, hasDollars: false };

/** The part of a call that says which cell it runs. */
type Host = Pick<ToolCall, "cwd" | "workflows">;

/**
 * A tool that runs workflows.
 *
 * @param usualOf chooses the agent of calls that name none, among those that the host lends; null: a
 * model
 */
function defineWorkflow(usualOf: (agents: readonly string[]) => string | null): Tool {
  async function cellOf(session: Session, asked: Asked, host: Host): Promise<WorkflowCell & { name: string }> {
    const { workflowCell } = await import("../workflow/index.ts");
    const { belayHome, models, hasTokens, hasDollars } = (await host.workflows?.()) ?? NO_SETTINGS;
    const script = await scriptOf(asked, {
      cwd: host.cwd,
      home: userHome(),
      belayHome: belayHome ?? homeFolder(process.env),
    });
    const agents = session.agents();
    const args = asked.args === undefined ? undefined : unrounded("rlm_workflow", "args", asked.args);
    const nested = session.functions().some(({ name }) => name === SOURCE);
    const settings = { args, agents, usual: usualOf(agents), aliases: models, nested };
    const cell = workflowCell(script, { ...settings, tokens: hasTokens, dollars: hasDollars });
    return { ...cell, name: script.meta.name };
  }

  return defineTool({
    name: "rlm_workflow",
    label: "RLM workflow",
    description: WORDS,
    promptSnippet: "Run a script that directs many agents",
    parameters: {
      type: "object",
      properties: {
        script: { type: "string", description: "JavaScript" },
        name: { type: "string", description: "Instead: a saved workflow" },
        args: JSON_VALUE,
      },
    },
    rest: "Return less from the script, such as counts and the worst cases.",
    async run(session, asked, { signal, suspend, ...host }) {
      const { source, asked: beginning, name } = await cellOf(session, asked, host);
      const open = session.unfinished();
      // A host may give the session in which the same call was interrupted.
      if (open?.workflow && typeof open.input === "string" && open.input.startsWith(beginning)) {
        const resumed = await session.resume({ signal, suspend });
        if (resumed?.kind === "cell" && resumed.envelope) return resumed.envelope;
      }
      const limits = { max_output_bytes: MAX_EXEC_LIMITS.max_output_bytes };
      return session.exec(source, { name, limits, signal, suspend, workflow: true });
    },
    asks: async (session, asked, host) => (await cellOf(session, asked, host)).asked,
    recorded: (_asked, { envelope }) => envelope ?? {},
    failureFields: { traceback: "", ...emptyEnvelope },
  });
}

/** The function by which a script that runs another one gets it. */
const SOURCE = "workflow_source";

/**
 * The script that a call names. @throws RlmError `invalid_argument`, and `policy_violation` for one of
 * the project that the user has not trusted
 */
async function scriptOf({ script, name }: Asked, places: WorkflowPlaces): Promise<WorkflowScript> {
  // A server that lists its tools does not load this.
  const { readWorkflow, refuseUntrusted, savedWorkflow } = await import("../workflow/index.ts");
  if (script !== undefined && name === undefined) return readWorkflow(script, "workflow.js");
  if (name !== undefined && script === undefined) {
    const found = savedWorkflow(places, name);
    refuseUntrusted(found);
    return found.script;
  }
  const problem = script === undefined ? "it needs script or name" : "script and name do not go together";
  throw new RlmError("invalid_argument", `rlm_workflow: ${problem}`, {
    suggestion: "Pass script with the JavaScript, or name with that of a saved workflow.",
  });
}

/** The tool of a server, to which the user lends agents by name: the first one answers. */
export const rlm_workflow = defineWorkflow(([first = null]) => first);

/** The tool of a host that has models and tools of its own. */
export const rlm_workflow_in_pi = defineWorkflow(() => null);

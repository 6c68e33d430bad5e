import { jsonOf } from "../platform/json.ts";
import { type SessionHost, serverTools, type Tool, type ToolSet } from "../tools/index.ts";

/** The tools of a set as `tools/list` shows them. */
export function listedTools(set: ToolSet) {
  return serverTools(set, NO_HOST).map((tool) => {
    const { name, label, description, parameters } = tool;
    const { properties, required } = parameters;
    return {
      name,
      title: label,
      description,
      // A copy without what the schema library adds to it.
      inputSchema: { type: "object" as const, ...jsonOf({ properties, required }) },
      annotations: annotationsOf(tool),
    };
  });
}

const refuse = () => Promise.reject(new Error("no session is served here"));

/** The tools are only looked at. */
const NO_HOST: SessionHost = { status: refuse, goTo: refuse, page: refuse, discard: refuse, wait: refuse };

/**
 * Tools that may destroy something: a load resets the session, rlm_wait can discard, and agents of
 * workflows change files.
 */
const DESTRUCTIVE: ReadonlySet<string> = new Set([
  "rlm_load",
  "rlm_wait",
  "rlm_workflow",
  "rlm_memory_clear",
  "rlm_helpers_remove",
]);
/** Tools by which a model is asked: rlm_wait finishes what was interrupted. */
const OPEN_WORLD: ReadonlySet<string> = new Set(["rlm_exec", "rlm_query", "rlm_ask", "rlm_wait", "rlm_workflow"]);

/** The protocol takes a tool without hints for one that destroys and reaches out. */
function annotationsOf({ name }: Tool) {
  const openWorldHint = OPEN_WORLD.has(name);
  if (name === "rlm_status" || /_(?:get|list)$/.test(name)) return { readOnlyHint: true, openWorldHint };
  return { readOnlyHint: false, destructiveHint: DESTRUCTIVE.has(name), openWorldHint };
}

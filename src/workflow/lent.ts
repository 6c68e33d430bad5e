import { type Json, RlmError } from "../../runtime/index.ts";
import { isNetworkPath } from "../platform/paths.ts";
import type { SessionFunction } from "../session/index.ts";
import { refuseUntrusted, savedWorkflow, type WorkflowPlaces, workflowAt } from "./saved.ts";
import { readWorkflow, type WorkflowScript } from "./script.ts";

/** The function by which `workflow()` gets scripts, as a session takes it. */
interface LentSource {
  readonly workflow_source: SessionFunction;
  readonly [name: string]: SessionFunction;
}

/** Lends saved workflows to `workflow()`, and scripts by their path: those that the user has written or trusted. */
export function lentSaved(places: WorkflowPlaces): LentSource {
  return lentSource(({ name, path }) => {
    if (name === null && isNetworkPath(path ?? ""))
      throw new RlmError("policy_violation", `${path} is not on this computer`, { suggestion: "Copy it to this one." });
    const found = name === null ? workflowAt(places, path ?? "") : savedWorkflow(places, name);
    refuseUntrusted(found);
    return found.script;
  });
}

/** Lends the scripts of a program to `workflow()`, by name. */
export function lentScripts(workflows: { readonly [name: string]: string }): LentSource {
  return lentSource(({ name, path }) => {
    const asked = name ?? path ?? "";
    const source = Object.hasOwn(workflows, asked) ? workflows[asked] : undefined;
    if (source !== undefined) return readWorkflow(source, `${asked}.js`);
    throw new RlmError("invalid_argument", `the workflow ${asked} is not in \`workflows\``, {
      suggestion: `Workflows are ${Object.keys(workflows).join(", ") || "none"}.`,
    });
  });
}

/** The argument of `workflow()`: one of both. */
interface AskedWorkflow {
  readonly name: string | null;
  /** That of `{ scriptPath }`. */
  readonly path: string | null;
}

/**
 * Makes the function by which `workflow()` gets scripts.
 *
 * @param find returns the script that was asked for, and throws if there is none or it is not trusted
 */
function lentSource(find: (asked: AskedWorkflow) => WorkflowScript): LentSource {
  const text = (value: Json | undefined) => (typeof value === "string" ? value : null);
  return {
    workflow_source: {
      description: "The script of a workflow.",
      parameters: { type: "object", properties: { name: { type: "string" }, path: { type: "string" } } },
      effects: "none",
      runsDry: true,
      run: ({ name, path }) => {
        const { meta, body } = find({ name: text(name), path: text(path) });
        return { name: meta.name, body };
      },
    },
  };
}

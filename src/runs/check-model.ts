import { tokenizer } from "acorn";
import { firstly, RlmError, remedy } from "../../runtime/index.ts";
import type { Models } from "../models/index.ts";
import type { RunSpec } from "./spec.ts";

const ASKING = ["llm_query", "llm_query_batch", "rlm_query"];

/**
 * Refuses a run whose script asks the run's model if there is none, or if the models here cannot
 * ask it. A script that makes no calls, or names a model in its code, is not refused.
 *
 * @param models null: other hosts ask, and have the keys
 * @throws RlmError `no_model_configured`, `auth_expired`
 */
export function checkModel({ script, model }: Pick<RunSpec, "script" | "model">, models: Models | null): void {
  if (!asksModel(script)) return;
  if (model !== null) return void models?.resolve(model);
  throw new RlmError("no_model_configured", `${script.name} asks a model, and the run names none`, {
    suggestion: models?.noModelCure?.() ?? `${firstly("nameModel")}; ${remedy("nameServer")}.`,
  });
}

/** True if a script asks the model of its run: it makes calls, and names no model in its code. */
export function asksModel({ source }: RunSpec["script"]): boolean {
  const names = namesIn(source);
  return !names.has("model") && ASKING.some((name) => names.has(name));
}

/**
 * The names that a cell has in its code: those in comments, texts and regular expressions are not
 * among them.
 */
function namesIn(source: string): ReadonlySet<string> {
  const names = new Set<string>();
  try {
    const tokens = tokenizer(source, { ecmaVersion: "latest", allowHashBang: true });
    for (const { type, start, end } of tokens) if (type.label === "name") names.add(source.slice(start, end));
  } catch {
    // The engine will say what is wrong behind this place.
  }
  return names;
}

import { createHash } from "node:crypto";
import { basename, extname } from "node:path";
import { tokenizer } from "acorn";
import * as v from "valibot";
import { firstly, type Json, LIMITS, RlmError, remedy } from "../../runtime/index.ts";
import type { Models } from "../models/index.ts";
import { isRecord } from "../platform/json.ts";
import { schemasAt } from "../settings/options.ts";

/**
 * The work of each job of a run, as the run's row has it. Whoever can write to the store can write
 * a row, so nothing here is a key, a place or a permission, and all numbers are bounded. What a
 * worker allows by its own flags counts beside it.
 */
export type RunSpec = Readonly<v.InferOutput<typeof Spec>>;

/** So much of something in a minute, of a provider. */
export type ProviderRate = Readonly<v.InferOutput<typeof ProviderRate>>;

const count = v.pipe(v.number(), v.safeInteger(), v.minValue(1));
const orNull = <S extends v.GenericSchema>(schema: S) => v.optional(v.nullable(schema), null);
/** A text that can be shown on one line. */
const Label = v.pipe(v.string(), v.maxLength(500), v.regex(/^\P{Cc}*$/u));

const ProviderRate = v.object({
  /** As in `provider/model`. */
  provider: Label,
  perMinute: v.pipe(v.number(), v.finite(), v.gtValue(0)),
  of: v.picklist(["requests", "tokens"]),
});

const Spec = v.object({
  /** `name`: the file, for tracebacks. */
  script: v.object({ name: Label, source: v.pipe(v.string(), v.maxLength(LIMITS.sourceBytes)) }),
  /** `provider/id` of sub-calls; null: cells make none. */
  model: orNull(Label),
  ...schemasAt("run"),
  sampling: v.optional(v.object(schemasAt("run", "sampling"))),
  /** Limits of the cell. */
  limits: v.optional(v.object(schemasAt("run", "limits")), {}),
  /** The budget of one job. */
  budget: v.optional(v.object(schemasAt("run", "budget")), {}),
  /** No context, one that all jobs share, or one of each job's own. */
  context: v.picklist(["none", "shared", "each"]),
  /**
   * The decoding of tables and contexts, as flags said it. It only tells runs apart: what jobs have
   * is decoded already.
   */
  decoding: v.exactOptional(v.object({ encoding: v.exactOptional(Label), lossy: v.exactOptional(v.boolean()) })),
  /** Agents that jobs ask: only a process that lends them works on the run. */
  agents: v.exactOptional(v.array(Label)),
  /** Further tries of a job whose machine or context was lost. */
  retries: v.optional(v.pipe(v.number(), v.safeInteger(), v.minValue(0), v.maxValue(100)), 2),
  /** The treatment of a call that the run's limits have no room for. */
  on_budget: v.optional(v.picklist(["park", "fail"]), "park"),
  /** The treatment of calls that were in flight when a process ended. */
  on_restart: v.optional(v.picklist(["send", "fail"]), "send"),
  /** Answers of identical plain calls are taken from the store, whatever made them. */
  cache: v.optional(v.boolean(), false),
  keep_steps: v.optional(v.boolean(), false),
  /** Images of jobs that are done stay. */
  keep_sessions: v.optional(v.boolean(), false),
  /** Time that the journals of jobs that are done stay, ms. The store's gc reads it. */
  keep_ms: v.optional(count, 30 * 24 * 3600_000),
  /** The run is paused after so many failures. */
  fail_fast: orNull(count),
  rates: v.optional(v.pipe(v.array(ProviderRate), v.maxLength(100)), []),
});

/** @throws RlmError `store_corrupt` for a row that this build cannot read */
export function readSpec(spec: Json): RunSpec {
  const read = v.safeParse(Spec, spec);
  if (read.success) return read.output;
  const place = v.getDotPath(read.issues[0]) ?? "the whole";
  throw new RlmError("store_corrupt", `what the run does cannot be read: ${place} is wrong`, {
    suggestion: "Submit the run again under another name, or use the version of Belay that made it.",
  });
}

/** The work of one job, which may ask another model than its run. */
export function specOfJob(spec: RunSpec, { model }: { readonly model: string | null }): RunSpec {
  return { ...spec, model: model ?? spec.model };
}

/** A specification with its defaults. @throws RlmError `invalid_argument` naming the field */
export function newSpec(spec: v.InferInput<typeof Spec>): RunSpec {
  const read = v.safeParse(Spec, spec);
  if (read.success) return read.output;
  const [issue] = read.issues;
  throw new RlmError("invalid_argument", `a run's ${v.getDotPath(issue) ?? "specification"}: ${issue.message}`, {
    suggestion: "Correct it, or leave it out.",
  });
}

/**
 * SHA-256, hex, of what makes a run another one: script, model, limits, budget of a job, what its
 * contexts are, and how they were decoded.
 */
export function hashOfRun({ script, model, thinking, sampling, limits, budget, context, decoding }: RunSpec): string {
  const what = [script.source, model, sorted(limits), sorted(budget), context];
  if (thinking !== "off") what.push(thinking);
  if (sampling) what.push(JSON.stringify(sampling));
  if (decoding) what.push(sorted(decoding));
  return createHash("sha256").update(JSON.stringify(what)).digest("hex");
}

const sorted = (fields: object) => Object.entries(fields).sort(([a], [b]) => (a < b ? -1 : 1));

/** The model that a run names, or null. Its row may be damaged. */
export function modelOfRun({ spec }: { readonly spec: Json }): string | null {
  return isRecord(spec) && typeof spec.model === "string" ? spec.model : null;
}

const DIGITS = 8;
/** Room for the hash behind it, and for `-2` behind that. */
const BASE_UNITS = 80;

/**
 * `reviews-3f2a91c0`: what a run is called unless `--name` says otherwise.
 *
 * @param hash of what the run does, hex
 */
export function runName(script: string, hash: string): string {
  const base = basename(script, extname(script)).replaceAll(/[^\p{L}\p{N}._-]+/gu, "-");
  return `${base.replace(/^[^\p{L}\p{N}]+/u, "").slice(0, BASE_UNITS) || "run"}-${hash.slice(0, DIGITS)}`;
}

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

/** The script that was looked at last: a worker looks at that of its run before each job. */
let known: { readonly source: string; readonly asks: boolean } | undefined;

/** True if a script asks the model of its run: it makes calls, and names no model in its code. */
export function asksModel({ source }: RunSpec["script"]): boolean {
  if (known?.source === source) return known.asks;
  const names = namesIn(source);
  known = { source, asks: !names.has("model") && ASKING.some((name) => names.has(name)) };
  return known.asks;
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

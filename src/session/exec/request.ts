import { resolve } from "node:path";
import { type ExecLimits, type ExecSignals, type Json, RlmError } from "../../../runtime/index.ts";
import { type Context, type LoadOptions, load, type PathsSource, pathsName, type Source } from "../../context/index.ts";
import { given } from "../../platform/json.ts";
import { type LoadInput, readLoadInput, recordedWays, sourceIn, waysIn } from "../contexts/contexts.ts";
import { type ExcerptInput, loadExcerpt } from "../contexts/excerpts.ts";
import type { Granted } from "../contexts/granted.ts";
import type { BudgetLimits } from "../journal/ledger.ts";
import type { CellFile, Start } from "../journal/records.ts";
import type { ExecOptions, LoadPaths, LoadSource } from "../option-types.ts";

/** A request to run an exec. */
export type ExecRequest = CellRequest | LoadRequest | CommandRequest;

export type CellRequest =
  | {
      readonly kind: "cell";
      readonly source: string;
      readonly limits: Partial<ExecLimits>;
      readonly sites?: boolean;
      readonly name?: string;
      readonly rest?: readonly CellFile[];
      /** The exec_id of the ask whose cell this is. */
      readonly ask?: string;
      /** Limits of its caller for it alone. */
      readonly budget?: Partial<BudgetLimits>;
    }
  /** Belay's own cell, on another machine at the same checkpoint. Only the ledger changes. */
  | {
      readonly kind: "query";
      readonly prompt: string;
      readonly source: string;
      readonly budget?: Partial<BudgetLimits>;
    };

export interface LoadRequest {
  readonly kind: "load" | "append";
  readonly input: LoadInput;
  read(current: Context | null): Promise<Context>;
}

/** A change of the guest's memory or helpers. */
export interface CommandRequest {
  readonly kind: "memory" | "helpers";
  readonly input: Json;
}

/** The signals that end an exec, and the function that takes its whole result. */
export type ExecAsked = ExecSignals & Pick<ExecOptions, "deliver" | "history">;

/** A load or append of what a caller names: a path, or text at hand. */
export function loadRequest(kind: LoadRequest["kind"], from: LoadSource, options: LoadOptions): LoadRequest {
  const { cwd } = options;
  const absolute = options.roots.map((root) => resolve(cwd, root));
  const how = recordedWays(options.documents ?? {});
  if (typeof from !== "string" && "paths" in from) {
    const source = sourceOf(from, cwd);
    const { paths, folder, most = {} } = source;
    return reading(kind, { name: pathsName(source), paths, folder, most, roots: absolute, ...how }, source, options);
  }
  if (typeof from !== "string") {
    return reading(kind, { name: from.name }, { kind: "text", text: from.text, name: from.name }, options);
  }
  const input = { path: resolve(cwd, from), roots: absolute, ...how };
  return reading(kind, input, { kind: "path", path: from }, options);
}

function sourceOf({ paths, maxFiles, maxBytes }: LoadPaths, cwd: string): PathsSource {
  const absolute = paths.map((path) => (path === "" ? path : resolve(cwd, path)));
  const most = given({ files: maxFiles, bytes: maxBytes });
  return { kind: "paths", paths: absolute, folder: resolve(cwd), most };
}

/** Options and services of a session's loads. */
export interface Loading extends Omit<LoadOptions, "roots"> {
  /** Opens a context of the store, for a load of parts of it. @throws RlmError `context_lost` */
  contextOf(key: string): Promise<Context>;
}

/** The load of a child's context. */
export function excerptRequest(input: ExcerptInput, loading: Loading): LoadRequest {
  return { kind: "load", input, read: () => loadExcerpt(input, loading.contextOf, loading) };
}

/** The request of a cell or query, from its first record. */
export function cellRequestOf({ kind, input, cell, limits, rest, ask }: Start): CellRequest {
  const source = cell ?? "";
  if (kind === "query") return { kind, prompt: String(input), source };
  return { kind: "cell", source, limits, rest, ...(ask === undefined ? {} : { ask }) };
}

/** The request of a load or append, from its first record. It reads only folders that the caller still grants. */
export function loadRequestOf(
  kind: LoadRequest["kind"],
  input: Json,
  { granted, loading }: { readonly granted: Granted; readonly loading: Loading },
): LoadRequest {
  const from = readLoadInput(input);
  if ("kind" in from) return excerptRequest(from, loading);
  if (!("roots" in from)) {
    const why = `${from.name} was loaded from text at hand, and the process that had it is gone`;
    const gone = new RlmError("context_lost", why, { suggestion: "Load it again." });
    return { kind, input: from, read: () => Promise.reject(gone) };
  }
  const documents = { ...loading.documents, ...waysIn(from) };
  return reading(kind, from, sourceIn(from), { ...loading, documents, roots: granted.among(from.roots) });
}

function reading(kind: LoadRequest["kind"], input: LoadInput, source: Source, options: LoadOptions): LoadRequest {
  return { kind, input, read: (current) => load(source, options, current ?? undefined) };
}

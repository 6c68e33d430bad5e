import { resolve } from "node:path";
import { type Json, RlmError } from "../../../runtime/index.ts";
import { type Context, type LoadOptions, load, type PathsSource, pathsName, type Source } from "../../context/index.ts";
import { withoutUndefined } from "../../platform/json.ts";
import type { Store } from "../../store/index.ts";
import {
  keepContext,
  type LoadInput,
  type Loading,
  readLoadInput,
  recordedWays,
  sourceIn,
  waysIn,
} from "../contexts/contexts.ts";
import { type ExcerptInput, loadExcerpt } from "../contexts/excerpts.ts";
import type { Granted } from "../contexts/granted.ts";
import { positionOf } from "../journal/account.ts";
import type { ExecRecords } from "../journal/exec-records.ts";
import type { LoadPaths, LoadSource } from "../option-types.ts";
import type { SessionParts } from "../parts.ts";
import { keepEndOrDrop, runAtOnce } from "./run-exec.ts";
import type { LoadRequest, Work } from "./work.ts";

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
  const most = withoutUndefined({ files: maxFiles, bytes: maxBytes });
  return { kind: "paths", paths: absolute, folder: resolve(cwd), most };
}

/** The load of a child's context. */
export function excerptRequest(input: ExcerptInput, loading: Loading): LoadRequest {
  return { kind: "load", input, read: () => loadExcerpt(input, loading.contextOf, loading) };
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

/** Loads a context, or appends to the one that is loaded: an exec that makes no calls. Returns the context after it. */
export function runLoad(
  setup: SessionParts,
  request: LoadRequest,
  interrupted: ExecRecords | null = null,
): Promise<Context> {
  const { heldTexts } = setup.loading;
  return runAtOnce(setup, request, interrupted, (work) => runLoadIn(work, request)).then(
    (context) => heldTexts.free().then(() => context),
    (error) => heldTexts.drop().then(() => Promise.reject(error)),
  );
}

async function runLoadIn(work: Work, request: LoadRequest): Promise<Context> {
  const { guest, env, space } = work.setup;
  const state = work.recorder.state();
  const isNew = request.kind === "load";
  const context = await request.read(isNew ? null : state.context);
  await keepContext(env.store, context, space);
  if (isNew) await guest.reset();
  // An image is opened with the context that it was made with. Its guest is then told of the longer one.
  else await guest.use(positionOf(state));
  const position = isNew ? { checkpoint: null, sources: [], given: [] } : positionOf(state);
  await keepEndOrDrop(work, await guest.use({ ...position, context }), context);
  return context;
}

/** Loads a context and keeps it in the store, for sessions that are opened later. Returns its key. @throws as `load` */
export async function loadIntoStore(store: Store, source: LoadSource, options: LoadOptions): Promise<string> {
  const context = await loadRequest("load", source, options).read(null);
  await keepContext(store, context);
  return context.key;
}

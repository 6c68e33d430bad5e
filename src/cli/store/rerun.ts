import { existsSync } from "node:fs";
import { relative, resolve } from "node:path";
import type { ExecDescription, SessionDescription } from "../../history/index.ts";
import { RlmError } from "../../index.ts";
import { typedName } from "../../platform/shell-word.ts";
import { mostOf, readLoadInput } from "../../session/index.ts";
import { nextName } from "../../session/session-name.ts";
import { readConfig } from "../../settings/index.ts";
import { openSigner } from "../../settings/signed-settings.ts";
import type { SessionRow, Store } from "../../store/index.ts";
import { runStore } from "../batch/run-command.ts";
import type { Arguments } from "../flags/arguments.ts";
import { commandLine } from "../flags/usage.ts";
import { flagOf } from "../flags/values.ts";
import { contextNow } from "../input/contexts.ts";
import type { KeptSettings } from "../session/recorded-settings.ts";
import { optionsOf, recordedSettings } from "../session/recorded-settings.ts";
import { configPlaces, documentOptions } from "../session/settings.ts";

/**
 * Lines that run the cells of a session again in another one, and compare the two, if its sources
 * have changed since they were loaded. A store may come from another user: only roots that this
 * user has signed are looked at.
 */
export async function rerunLines(store: Store, row: SessionRow, session: SessionDescription, args: Arguments) {
  const { context, execs, name } = session;
  const { place, flags } = runStore(args);
  const settings = recordedSettings(row, openSigner(place, process.env))?.kept?.first;
  const { paths, ...ways } = loadedFrom(execs);
  const run = settings && cellsOf(execs, settings);
  if (!settings || !run || !context || paths.length === 0) return [];
  try {
    const sources = paths.map((path) => ({ path, source: path }));
    const documents = { ...documentOptions(), ...ways };
    const { roots = [] } = settings.settings;
    const options = { roots, cwd: settings.cwd, documents, most: mostOf(optionsOf(settings)) };
    if ((await contextNow(sources, () => options, store)).hash === context.hash) return [];
    const base = (name ?? "again").replace(/-\d+$/, "");
    const next = await nextName(base, async (taken) => (await store.find(taken)) !== null);
    const how = [
      ...(ways.raw ? ["--raw"] : []),
      ...(ways.secrets ? ["--include-secrets"] : []),
      ...(ways.encoding === undefined ? [] : ["--encoding", ways.encoding]),
      ...(ways.lossy ? ["--lossy"] : []),
    ];
    const loaded = [...paths.flatMap((path) => ["-c", nearby(path)]), ...how];
    const line = ["exec", ...run, ...loaded, "--cache", "--session", next, ...settingsOf(settings), ...flags];
    return [
      `its sources changed; run again: ${commandLine(line)}`,
      `and compare: ${commandLine(["show", next, "--against", typedName(session), ...flags])}`,
      ...(settings.options.cache ? [] : ["It ran without --cache, so its answers are not in the cache."]),
    ];
  } catch (error) {
    // Sources that are gone, or that may not be read, cannot be run over.
    if (error instanceof RlmError) return [];
    throw error;
  }
}

/**
 * Paths of the last load and of what was appended to it, and how these were loaded; none if one of
 * them is not a path.
 */
function loadedFrom(execs: readonly ExecDescription[]) {
  const first = execs.findLastIndex(({ kind, status }) => kind === "load" && status === "ok");
  const loads = execs.slice(Math.max(0, first)).filter(({ kind, status }) => status === "ok" && LOADS.has(kind));
  const named = loads.flatMap(({ source }) => {
    const input = readLoadInput(source);
    return "path" in input ? [input] : [];
  });
  const paths = named.length === loads.length ? named.map(({ path }) => path) : [];
  const isAny = (way: "raw" | "secrets" | "lossy") => named.some((input) => input[way] === true);
  const encoding = named.find((input) => input.encoding !== undefined)?.encoding;
  return { paths, raw: isAny("raw"), secrets: isAny("secrets"), lossy: isAny("lossy"), encoding };
}

const LOADS: ReadonlySet<string> = new Set(["load", "append"]);

/** A cell that was typed is told as long as it fits in a line. */
const SHORT = 200;

/** The cells as arguments of `belay exec`; null: there are none, or other execs are among them. */
function cellsOf(execs: readonly ExecDescription[], { cwd }: KeptSettings): string[] | null {
  const run = execs.filter(({ kind, parent }) => !LOADS.has(kind) && parent === null);
  if (run.length === 0 || run.some(({ kind }) => kind !== "cell")) return null;
  const told = run.flatMap(({ file, source }) => {
    if (file !== null) return existsSync(resolve(cwd, file)) ? [nearby(resolve(cwd, file))] : [null];
    return typeof source === "string" && source.length <= SHORT && !source.includes("\n") ? ["-e", source] : [null];
  });
  const words = told.filter((word) => word !== null);
  return words.length < told.length ? ["FILES"] : words;
}

/** Settings of the session that a command here would not have by itself. */
function settingsOf({ settings }: KeptSettings): string[] {
  const here = new Map<string, unknown>(Object.entries(readConfig({}, configPlaces())));
  return Object.entries(settings).flatMap(([key, value]) => {
    const flag = key === "roots" || here.get(key) === value ? undefined : flagOf(key);
    return flag ? [`--${flag.name}`, String(value)] : [];
  });
}

/** A path below this folder, or as it is. */
function nearby(path: string): string {
  const below = relative(process.cwd(), path);
  return below.startsWith("..") ? path : below || ".";
}

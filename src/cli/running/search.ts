import { isAbsolute, relative } from "node:path";
import { queryWords } from "../../context/index.ts";
import { RlmError } from "../../index.ts";
import { jsonText } from "../../platform/visible.ts";
import type { Host } from "../commands/define.ts";
import type { SearchFlags } from "../commands/search.ts";
import type { Arguments } from "../flags/arguments.ts";
import { OUTPUT_FLAGS } from "../flags/declared.ts";
import { rootsOf, type SearchRequest, searchedSources, searchRequest } from "../input/sources.ts";
import { showLoaded } from "../render/loaded.ts";
import { type Hit, hitsIn, placeLine } from "../render/value.ts";
import { type InSession, inSession } from "../session/opening.ts";
import { COULD_NOT_LOOK } from "./find.ts";
import { signalsOf } from "./run-cells.ts";

/** `belay search`: prints the places that fit the words best. */
export function searchCommand(args: Arguments, host: Host, { hits: most = 10 }: SearchFlags): Promise<number> {
  const wanted = searchRequest(args, "search", "search word");
  const search = async ({ flags, terminal, stop, isJson, open }: InSession) => {
    const opened = await open({ flags: { ...flags, store: null, contexts: [] } });
    const { session, progress } = opened;
    progress.begin(wanted.paths.join(", "));
    for (const source of await searchedSources(wanted, stop.signal)) {
      const options = { signal: stop.signal, roots: rootsOf(wanted), ...flags.loading };
      await (session.stats() ? session.loadAppend(source, options) : session.load(source, options));
    }
    const cell = `search(${JSON.stringify(wanted.text)}, ${most})`;
    const envelope = await session.exec(cell, signalsOf(opened, stop));
    progress.end();
    const loaded = session.stats();
    if (loaded && !args.get(OUTPUT_FLAGS.quiet)) showLoaded(loaded, terminal.stderr, args.get(OUTPUT_FLAGS.verbose));
    if (!envelope.success) {
      const { error_code, error_message } = envelope;
      const again = "Type the same line again: it continues the index of these files.";
      const suggestion = error_code === "js_timeout" ? again : envelope.suggestion;
      throw new RlmError(error_code, error_message, { suggestion });
    }
    const hits = asTyped(wanted, hitsIn(envelope.result_json));
    const { rangesIn } = queryWords(wanted.text);
    const shown = (hit: Hit) => placeLine({ ...hit, marks: rangesIn(hit.text) }, terminal.stdout);
    terminal.stdout.writeRaw(hits.map((hit) => `${isJson ? jsonHit(hit) : shown(hit)}\n`).join(""));
    if (loaded && loaded.skipped.unread > 0) return COULD_NOT_LOOK;
    return hits.length > 0 ? 0 : 1;
  };
  return inSession(args, host, "search", search, COULD_NOT_LOOK);
}

/**
 * Documents by the paths that were typed: without an absolute one they are relative, as grep prints
 * them.
 */
function asTyped<Found extends { readonly id: string }>({ paths }: SearchRequest, found: readonly Found[]): Found[] {
  const shown = (id: string) => (isAbsolute(id) && !paths.some(isAbsolute) ? relative(process.cwd(), id) : id);
  return found.map((one) => ({ ...one, id: shown(one.id) }));
}

const jsonHit = ({ id, line, place, score, chunk }: Hit) =>
  jsonText({ path: id, line, ...(place === null ? {} : { place }), score, text: chunk });

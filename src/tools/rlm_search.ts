import { RlmError } from "../../runtime/index.ts";
import {
  type Document,
  type DocumentHits,
  type Documents,
  escapePattern,
  findObject,
  HITS_COUNTED,
  type ObjectSource,
  objectOf,
  pauses,
} from "../context/index.ts";
import { TaskEnded, taskThread } from "../models/index.ts";
import { type ConversationObjects, nameOf, QUOTED_BYTES } from "./conversation.ts";
import { defineConversationTool } from "./define.ts";

const HITS = 50;
/** Characters shown on each side of where a hit begins; of a long one the beginning. */
const AROUND = 50;
const HIT_UNITS = 150;

export const rlm_search = defineConversationTool({
  name: "rlm_search",
  label: "RLM search",
  description: `Search this whole conversation and P, however old. Answers ids and offsets for rlm_peek, at most ${HITS}.`,
  promptSnippet: "Search all of the conversation and P",
  guidelines: [
    "The user sees the whole conversation, and you may not: before you say that you lack something, look for it with rlm_search.",
    "Check that an object found with rlm_search or rlm_peek is the one that the user means.",
  ],
  parameters: {
    type: "object",
    required: ["pattern"],
    properties: {
      pattern: { type: "string", minLength: 1, description: "Text in any case, or /regex/flags as for find" },
      scope: { type: "array", items: { type: "string" }, description: "Ids to search" },
    },
  },
  answersText: true,
  async run(conversation, { pattern, scope }, { signal }) {
    const objects = await conversation.objects();
    const searched = scope ? await named(objects, scope) : searchable(objects);
    const found = await find(searched, pattern, signal);
    const { problem } = objects;
    const facts = [summary(found, pattern), ...(problem === null ? [] : [`P cannot be searched: ${problem}`])];
    return { text: [facts.join(" · "), ...(await hitLines(searched, found))].join("\n") };
  },
  failureFields: {},
});

/** Documents of one source. */
interface Searched extends ObjectSource {
  readonly documents: Documents;
}

/**
 * All but the call itself and what these tools answered before: they say only again what others
 * say.
 */
function searchable({ sources, own }: ConversationObjects): Searched[] {
  const isCopy = ({ id }: Document) => id === own || /-rlm_(?:search|peek)$/.test(id);
  return sources.map((source) => {
    const { documents } = source.context;
    return { ...source, documents: source.of === "P" ? documents : [...documents].filter((one) => !isCopy(one)) };
  });
}

/** @throws RlmError `object_not_found`, `object_ambiguous` */
async function named({ sources }: ConversationObjects, scope: readonly string[]): Promise<Searched[]> {
  return Array.fromAsync(scope, async (id) => {
    const { document, ...source } = await findObject(sources, id, pauses());
    return { ...source, documents: [document] };
  });
}

/**
 * @throws RlmError `invalid_argument` for a pattern that cannot be searched for, or that takes too
 * long
 */
async function find(searched: readonly Searched[], pattern: string, signal: AbortSignal): Promise<DocumentHits> {
  const texts = searched.map(({ context, documents }) => ({
    text: context.text.data,
    // Those of a large context are not all sent to the thread.
    ranges: documents === context.documents && context.text.large ? null : rangesOf(documents),
  }));
  const { source, flags } = patternOf(pattern);
  try {
    return await taskThread().run("find", [texts, source, flags, HITS], signal);
  } catch (error) {
    if (error instanceof TaskEnded) throw ended(error);
    if (error instanceof RlmError) throw refused(error.message.replace(/^find: /, ""), error.suggestion);
    throw error;
  }
}

function rangesOf(documents: Documents): (readonly [start: number, end: number])[] {
  return Array.from(documents, ({ start, end }) => [start, end]);
}

function ended(error: TaskEnded): RlmError {
  const suggestion = "Search for a simpler pattern, or name the objects in scope.";
  if (error.reason !== "cancelled") return refused(error.message, suggestion);
  return new RlmError("cancelled", "rlm_search: it was cancelled", { suggestion: "Call the tool again." });
}

function refused(problem: string, suggestion: string): RlmError {
  return new RlmError("invalid_argument", `rlm_search: ${problem}`, { suggestion });
}

/** `/a|b/i` is a pattern. All else is text, such as `/usr/bin`. */
function patternOf(given: string): { readonly source: string; readonly flags: string } {
  const [, source, flags] = /^\/(.+)\/([dgimsu]*)$/s.exec(given) ?? [];
  return source === undefined ? { source: escapePattern(given), flags: "i" } : { source, flags: flags ?? "" };
}

function summary({ hits, total, documents }: DocumentHits, pattern: string): string {
  const what = `for ${pattern.length > HIT_UNITS ? `${pattern.slice(0, HIT_UNITS)}…` : pattern}`;
  if (total === 0) return onOneLine(`no hits ${what}`);
  const count = total >= HITS_COUNTED ? `${HITS_COUNTED} or more hits` : counted(total, "hit");
  const shown = total > hits.length ? `, the first ${hits.length} are shown` : "";
  return onOneLine(`${count} in ${counted(documents, "object")} ${what}${shown}`);
}

function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? "" : "s"}`;
}

/** A line for each object, and under it one for each hit: the offset, and the text around it. */
async function hitLines(searched: readonly Searched[], { hits }: DocumentHits): Promise<string[]> {
  const lines: string[] = [];
  const pause = pauses();
  let left = QUOTED_BYTES;
  const ofDocuments = Map.groupBy(hits, ({ text, range }) => `${text} ${range}`);
  for (const found of ofDocuments.values()) {
    const [first] = found;
    const source = first && searched[first.text];
    const document = first && source?.documents.at(first.range);
    if (!source || !document) continue;
    const object = await objectOf({ ...source, document }, pause);
    for (const [at, { start, end }] of found.entries()) {
      const heading = at === 0 ? [`${object.id} ${nameOf(object)}`] : [];
      const added = [...heading, `  ${start}: ${excerpt(source, document, start, end)}`];
      left -= added.reduce((sum, line) => sum + Buffer.byteLength(line) + 1, 0);
      if (left < 0) return lines;
      lines.push(...added);
    }
  }
  return lines;
}

function excerpt({ context }: ObjectSource, document: Document, start: number, end: number): string {
  const from = Math.max(start - AROUND, 0);
  const to = Math.min(Math.max(start + AROUND, end), start + HIT_UNITS, document.size);
  const text = context.text.slice(document.start + from, document.start + to).toWellFormed();
  return `${from > 0 ? "…" : ""}${onOneLine(text)}${to < document.size ? "…" : ""}`;
}

function onOneLine(text: string): string {
  return text.replaceAll(/[\s\p{Cc}]+/gu, " ").toWellFormed();
}

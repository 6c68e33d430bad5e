import * as v from "valibot";
import { memoize } from "../../platform/memoize.ts";
import type { BranchEntry } from "../branch/entries.ts";
import { type Call, callsOf, messageOf, onlyText, type PiMessage } from "../externalize/message.ts";
import { digest } from "./digest.ts";
import { type Happened, type Known, knownOf } from "./known.ts";
import { type Meta, metaIn, REFRESH_ENTRY, refreshIn } from "./meta.ts";
import { canName } from "./path.ts";

/** The parts with which a branch is read. */
export interface BranchReading {
  readonly branch: readonly BranchEntry[];
  readonly cwd: string;
  /** True if the model was sent this text as the result of this call, when it asked for what is read now. */
  wasSent(call: string, text: string): boolean;
  /** The answer to a call of this entry whose result is not on the branch yet. */
  served(entry: BranchEntry, call: string): Meta | undefined;
}

/**
 * Events of a file before a call, or up to now, from the newest compaction on: earlier ones may be gone from the model's
 * window, whichever entries were kept. Results stand in the order of the branch.
 */
export function happenedTo(file: string, call: string | null, reading: BranchReading): readonly Happened[] {
  const { branch } = reading;
  const start = branch.findLastIndex(({ type }) => type === "compaction") + 1;
  const asked = branch.findLastIndex((entry) => callsIn(entry).some(({ id }) => id === call));
  const open: OpenCall[] = [];
  const happened: Happened[] = [];
  for (const [at, entry] of branch.entries()) {
    if (at < start) continue;
    // Calls of a process that died have no results: an edit among them may have been made.
    if (callsIn(entry).length > 0) happened.push(...withoutResults(open, file, reading));
    for (const one of callsBefore(entry, at === asked ? call : null)) open.push({ ...one, entry });
    const message = messageOf(entry);
    if (message?.role === "toolResult") {
      const answered = open.findIndex(({ id }) => id === message.toolCallId);
      const [own] = answered < 0 ? [] : open.splice(answered, 1);
      happened.push(...ofResult(message, own, { ...reading, file, isOfThisAnswer: asked >= 0 && at > asked }));
    } else if (entry.type === "custom" && entry.customType === REFRESH_ENTRY) {
      const refresh = refreshIn(entry.data);
      if (refresh?.pathKey === file) happened.push({ is: "refreshed", scope: refresh.scopeKey });
    }
  }
  return [...happened, ...withoutResults(open, file, reading)];
}

/** The model's knowledge of a file when it makes a call. */
export function knownAt(file: string, call: string, reading: BranchReading): Known {
  return knownOf(happenedTo(file, call, reading));
}

type OpenCall = Call & { readonly entry: BranchEntry };

/** Calls that an entry has. */
export function callsIn(entry: BranchEntry): readonly Call[] {
  const message = messageOf(entry);
  return message ? callsOf(message) : [];
}

/** The calls of an entry, up to this one. */
function callsBefore(entry: BranchEntry, call: string | null): readonly Call[] {
  const calls = callsIn(entry);
  // Several may have its id: an edit among them may have been made before it.
  const end = calls.findLastIndex(({ id }) => id === call);
  return end < 0 ? calls : calls.slice(0, end);
}

interface ResultParts extends BranchReading {
  readonly file: string;
  /** The result and the read that is answered now are of one answer of the model: it is sent both at once. */
  readonly isOfThisAnswer: boolean;
}

function ofResult(message: PiMessage, call: OpenCall | undefined, parts: ResultParts): readonly Happened[] {
  const { file, cwd, isOfThisAnswer, wasSent } = parts;
  const { toolName = "", toolCallId = "" } = message;
  const isError = Reflect.get(message, "isError") === true;
  if (CHANGING.includes(toolName)) {
    if (!call || !names(call, cwd, file)) return [];
    return [{ is: isError ? "edit failed" : "edited" }];
  }
  if (toolName !== "read" || isError) return [];
  const meta = metaOf(message);
  if (!meta) return call && names(call, cwd, file) ? [{ is: "unproven" }] : [];
  if (meta.pathKey !== file) return [];
  const text = onlyText(message);
  if (text === null || digest(text) !== meta.text) return [{ is: "unproven" }];
  return isOfThisAnswer || wasSent(toolCallId, text) ? [{ is: "read", meta }] : [];
}

/** Possible effects of calls that have no result on the branch, in their order; none is open afterwards. */
function withoutResults(open: OpenCall[], file: string, { cwd, served }: BranchReading): Happened[] {
  return open.splice(0).flatMap((call): Happened[] => {
    if (CHANGING.includes(call.name)) return names(call, cwd, file) ? [{ is: "edited" }] : [];
    const meta = call.name === "read" ? served(call.entry, call.id) : undefined;
    return meta?.pathKey === file ? [{ is: "read", meta }] : [];
  });
}

/** Every answer of the branch since the newest compaction, with the bytes that were sent. */
export function answersOn(branch: readonly BranchEntry[]) {
  const start = branch.findLastIndex(({ type }) => type === "compaction") + 1;
  return branch.slice(start).flatMap((entry) => {
    const message = messageOf(entry);
    if (message?.toolName !== "read") return [];
    const meta = metaOf(message);
    const text = onlyText(message);
    return meta && text !== null ? [{ meta, sentBytes: Buffer.byteLength(text) }] : [];
  });
}

/** The details of a result. */
const metaOf = memoize((message: PiMessage) => metaIn(Reflect.get(message, "details")));

const CHANGING = ["edit", "write"];

function names({ args }: Call, cwd: string, file: string): boolean {
  const given = v.safeParse(ArgumentsSchema, args);
  const path = given.success ? (given.output.path ?? given.output.file_path) : undefined;
  return path !== undefined && canName(path, cwd, file);
}

const ArgumentsSchema = v.object({ path: v.optional(v.string()), file_path: v.optional(v.string()) });

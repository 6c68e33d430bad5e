import * as v from "valibot";
import type { BranchEntry } from "../branch/entries.ts";
import { fates, toFolded } from "./apply.ts";
import { readOutside } from "./branch.ts";
import { type Folded, farewell, manifest } from "./fold.ts";
import { type ObjectIds, tokensIn, tokensOf } from "./keys.ts";
import { blocksOf, brokeOff, messagesOf, type PiMessage } from "./message.ts";
import { isOtherModel, type OutlookParts, outlook, type Rules } from "./outlook.ts";

/** What Pi says of a compaction that it is about to make. */
export interface CompactionWish {
  /** Pi before 0.87 does not say. */
  readonly reason: unknown;
  readonly firstKeptEntryId: string;
  readonly tokensBefore: number;
  /** What a model would be asked to summarize. */
  readonly summarized: readonly PiMessage[];
}

/** A compaction that asks no model. */
export interface OurCompaction {
  readonly summary: string;
  readonly firstKeptEntryId: string;
  readonly tokensBefore: number;
  readonly details: { readonly rlm: 1 };
}

/** What is answered: none is made, ours, or the one of Pi. */
export type CompactionAnswer =
  | { readonly is: "cancelled" }
  | { readonly is: "ours"; readonly compaction: OurCompaction; readonly becauseOfSize: boolean }
  | { readonly is: "pi" };

/** What the user's settings say of it. */
export interface CompactionSettings {
  /** More texts go out before the next request. */
  readonly externalize: boolean;
  /** Whose compaction is made if one is necessary. */
  readonly compaction: "objects" | "pi";
}

/** Who makes a compaction. One that an answer of the provider forces is never cancelled: the conversation would be locked. */
export function answerTo(
  wish: CompactionWish,
  parts: OutlookParts<PiMessage> & { readonly rules: Rules },
  { externalize, compaction: compacts }: CompactionSettings,
): CompactionAnswer {
  const { rules, branch, ids } = parts;
  const ours = (becauseOfSize = false): CompactionAnswer => ({
    is: "ours",
    compaction: ourCompaction(wish, branch, rules, ids),
    becauseOfSize,
  });
  const reason = reasonOf(wish, branch, rules);
  if (reason === "manual") return isTooLarge(wish.summarized, rules.window) ? ours(true) : { is: "pi" };
  const { window, reserve } = rules;
  // An epoch that the settings forbid makes no room.
  const next = () => outlook({ ...parts, rules: externalize ? rules : null });
  if (reason === "threshold" && next().size.tokens < window - reserve) return { is: "cancelled" };
  return compacts === "pi" ? { is: "pi" } : ours();
}

/** The prompts and objects of everything before what Pi keeps. Nothing is lost by it: the branch still has the texts. */
export function ourCompaction(
  { firstKeptEntryId, tokensBefore }: Pick<CompactionWish, "firstKeptEntryId" | "tokensBefore">,
  branch: readonly BranchEntry[],
  by: Pick<Rules, "manifest" | "min">,
  ids: ObjectIds,
): OurCompaction {
  const summary = [...earlierSummary(branch), manifest(foldedBefore(firstKeptEntryId, branch, ids), by)].join("\n\n");
  return { summary, firstKeptEntryId, tokensBefore, details: { rlm: 1 } };
}

/** The last one that we make, for a conversation that goes on without our tools; null if it would summarize nothing. */
export function lastCompaction(
  { firstKeptEntryId, tokensBefore }: Pick<CompactionWish, "firstKeptEntryId" | "tokensBefore">,
  branch: readonly BranchEntry[],
  by: Pick<Rules, "manifest" | "min">,
  ids: ObjectIds,
): OurCompaction | null {
  const folded = foldedBefore(firstKeptEntryId, branch, ids);
  if (folded.length === 0) return null;
  const summary = [...earlierSummary(branch), farewell(folded, by)].join("\n\n");
  return { summary, firstKeptEntryId, tokensBefore, details: { rlm: 1 } };
}

function foldedBefore(firstKept: string, branch: readonly BranchEntry[], ids: ObjectIds): readonly Folded[] {
  const kept = branch.findIndex(({ id }) => id === firstKept);
  const before = messagesOf(branch.slice(0, kept < 0 ? branch.length : kept));
  return fates(before, readOutside([]), ids)
    .filter(({ key }) => key !== null)
    .map((fate) => toFolded(fate, ids));
}

/** The newest summary that a model wrote: what stood in ours is written anew. */
function earlierSummary(branch: readonly BranchEntry[]): readonly string[] {
  const written = branch.findLast((entry) => entry.type === "compaction" && !isOurs(entry));
  return typeof written?.summary === "string" ? [written.summary] : [];
}

/** Whether we have made the compaction. */
export function isOurs({ details }: Pick<BranchEntry, "details">): boolean {
  return v.is(OursSchema, details);
}

const OursSchema = v.object({ rlm: v.literal(1) });

function reasonOf(
  { reason, tokensBefore }: CompactionWish,
  branch: readonly BranchEntry[],
  rules: Rules,
): "manual" | "threshold" | "overflow" {
  if (reason === "manual" || reason === "threshold" || reason === "overflow") return reason;
  const last = messagesOf(branch).at(-1);
  if (last && brokeOff(last) && last.stopReason === "error") return "overflow";
  const { window, reserve } = rules;
  // What another model took in says nothing of an overflow of this one.
  if (tokensBefore > window && !isOtherModel({ branch }, rules)) return "overflow";
  return tokensBefore > window - reserve ? "threshold" : "manual";
}

/** Pi cuts results to so many characters before it has them summarized. */
const SUMMARIZED_UNITS = 2000;

/** Whether a model could not be sent all that Pi would have it summarize. */
function isTooLarge(messages: readonly PiMessage[], window: number): boolean {
  const tokens = messages.reduce((sum, message) => {
    if (message.role !== "toolResult") return sum + tokensOf(message);
    const units = blocksOf(message).reduce((all, block) => all + (block.type === "text" ? block.text.length : 0), 0);
    return sum + tokensIn(Math.min(SUMMARIZED_UNITS, units));
  }, 0);
  return tokens > window;
}

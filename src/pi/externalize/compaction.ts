import * as v from "valibot";
import { PI_DEFAULTS } from "../../settings/index.ts";
import { farewell, fates, type ListBounds, manifest } from "./apply.ts";
import { readOutside } from "./branch.ts";
import type { OutsideSettings } from "./branch-state.ts";
import { type ObjectIds, tokensIn } from "./keys.ts";
import { type BranchEntry, blocksOf, brokeOff, messagesOf, type PiMessage } from "./message.ts";

import { isOtherModel, type NextRequestParts, nextRequest, type Rules } from "./next-request.ts";
import { estimate } from "./size.ts";

/** Pi's facts about a compaction that it is about to make. */
export interface CompactionWish {
  /** Pi before 0.87 does not say. */
  readonly reason: unknown;
  readonly firstKeptEntryId: string;
  readonly tokensBefore: number;
  /** The requests to a model that Pi would make, at once. Those without messages are not made. */
  readonly summaries: readonly Summary[];
}

/** A request to summarize messages. */
interface Summary {
  readonly messages: readonly PiMessage[];
  /** Characters that it has beside them and Pi's own words. */
  readonly others: number;
  /** Tokens that the answer may take. */
  readonly answer: number;
}

/** A compaction that asks no model. */
interface OurCompaction {
  readonly summary: string;
  readonly firstKeptEntryId: string;
  readonly tokensBefore: number;
  readonly details: { rlm: number };
}

/** The answer to Pi: no compaction, ours, or its own. */
export type PiAnswer = { readonly cancel?: true; readonly compaction?: OurCompaction };

/**
 * Decides who makes a compaction. One that an answer of the provider forces is never cancelled: the
 * conversation would be locked.
 *
 * @param tell is called with what the user has to know of it
 */
export function answerTo(
  wish: CompactionWish,
  parts: NextRequestParts<PiMessage> & { readonly rules: Rules },
  { externalize, compaction: compacts }: Pick<OutsideSettings, "externalize" | "compaction">,
  tell: (text: string) => void,
): PiAnswer {
  const { rules, branch, ids } = parts;
  const reason = reasonOf(wish, branch, rules);
  const { window, reserve } = rules;
  if (reason === "manual") {
    const { ratio } = nextRequest({ ...parts, rules: null }).size;
    if (wish.summaries.every((summary) => summaryTokens(summary, ratio) <= window)) return {};
    const compaction = ourCompaction(wish, branch, ids, rules);
    tell("RLM: the conversation is too large for a model to summarize; its objects are listed");
    return { compaction };
  }
  // An epoch that the settings forbid makes no room.
  const next = () => nextRequest({ ...parts, rules: externalize ? rules : null });
  if (reason === "threshold" && next().size.tokens < window - reserve) return { cancel: true };
  return compacts === "pi" ? {} : { compaction: ourCompaction(wish, branch, ids, rules) };
}

/**
 * The prompts and objects of everything before what Pi keeps. Nothing is lost by it: the branch
 * still has the texts.
 */
export function ourCompaction(
  wish: CompactionWish,
  branch: readonly BranchEntry[],
  ids: ObjectIds,
  by = USUAL,
): OurCompaction {
  return compactionWith(manifest(foldedBefore(wish, branch, ids), by, ids), wish, branch);
}

/**
 * The last one that we make, for a conversation that continues without our tools; null if it would
 * summarize nothing.
 */
export function lastCompaction(
  wish: CompactionWish,
  branch: readonly BranchEntry[],
  ids: ObjectIds,
): OurCompaction | null {
  const folded = foldedBefore(wish, branch, ids);
  return folded.length > 0 ? compactionWith(farewell(folded, USUAL, ids), wish, branch) : null;
}

/** The bounds of a list by no setting. */
const USUAL: ListBounds = {
  manifest: PI_DEFAULTS.manifest_tokens,
  min: PI_DEFAULTS.externalize_min_tokens,
};

function foldedBefore({ firstKeptEntryId }: CompactionWish, branch: readonly BranchEntry[], ids: ObjectIds) {
  const kept = branch.findIndex(({ id }) => id === firstKeptEntryId);
  const before = messagesOf(branch.slice(0, kept < 0 ? branch.length : kept));
  return fates(before, readOutside([]), ids).filter(({ key }) => key !== null);
}

/** A list behind the newest summary that a model wrote: what stood in ours is written anew. */
function compactionWith(
  list: string,
  { firstKeptEntryId, tokensBefore }: CompactionWish,
  branch: readonly BranchEntry[],
): OurCompaction {
  const written = branch.findLast((entry) => entry.type === "compaction" && !isOurs(entry));
  const earlier = typeof written?.summary === "string" ? [written.summary] : [];
  return { summary: [...earlier, list].join("\n\n"), firstKeptEntryId, tokensBefore, details: { rlm: 1 } };
}

/** True if we have made the compaction. */
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
  // Another model's input says nothing about an overflow of this one.
  if (tokensBefore > window && !isOtherModel({ branch }, rules)) return "overflow";
  return tokensBefore > window - reserve ? "threshold" : "manual";
}

/** Characters of a result that Pi has summarized, with those that tell of the rest. */
const RESULT_UNITS = 2050;
/** Characters of Pi's words around the messages, and before each of them. */
const PROMPT_UNITS = 2000;
const LABEL_UNITS = 26;

/**
 * Tokens that a request for a summary takes, with its answer. The ratio is what the provider counts
 * for an estimated token.
 */
function summaryTokens({ messages, others, answer }: Summary, ratio: number): number {
  if (messages.length === 0) return 0;
  const around = tokensIn(PROMPT_UNITS + others + LABEL_UNITS * messages.length);
  return ratio * (around + estimate(messages.map(asSummarized))) + answer;
}

/** The message as Pi writes it down: without images, and with the beginning of a result. */
function asSummarized(message: PiMessage): PiMessage {
  const blocks = blocksOf(message);
  const isResult = message.role === "toolResult";
  if (!isResult && blocks.every(({ type }) => type !== "image")) return message;
  const text = blocks.map((block) => (block.type === "text" ? block.text : "")).join("");
  return { ...message, content: isResult ? text.slice(0, RESULT_UNITS) : text };
}

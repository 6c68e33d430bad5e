import { ownTurn, turnStart } from "./turn-marks.ts";
import { matchAt } from "./value-places.ts";

/** The words of a reply that are for its reader. */
interface Spoken {
  /** Without the thinking; as it came if there was none. */
  readonly text: string;
  /** Thinking was taken off. */
  readonly isThought: boolean;
  /** Its end was marked, and turns behind it were left out: it is whole, wherever its server has cut the reply. */
  readonly isEnded?: true;
  /** The kinds of mending that a warning names; absent: there are none. */
  readonly mended?: readonly string[];
}

const UNOPENED = "thinking without its beginning";

/**
 * Tags that models think between. Those that a prompt may ask for itself do not count if it has
 * them.
 */
const OPENING_TAG =
  /<((?:(?:seed|mm|antml):|ant)?(?:think(?:ing)?|thoughts?|reasoning)|reason|analysis|reflection|scratchpad)(?:\s[^<>]{0,200})?>/iy;
const ANY_OPENING = new RegExp(OPENING_TAG.source, "i");
const CLOSING_TAG =
  /<\/((?:(?:seed|mm|antml):|ant)?(?:think(?:ing)?|thoughts?|reasoning)|reason|analysis|reflection|scratchpad)>/gi;
const ASKED_FOR = new Set(["reason", "analysis", "reflection", "scratchpad"]);

/** Marks of models that think between special tokens. */
const MARKS: readonly (readonly [opening: string, closing: string])[] = [
  ["[THINK]", "[/THINK]"],
  ["◁think▷", "◁/think▷"],
  ["<|START_THINKING|>", "<|END_THINKING|>"],
  ["<|begin_of_thought|>", "<|end_of_thought|>"],
  ["<|channel>thought", "<channel|>"],
];

/**
 * Words that models think between, and what Harmony leaves without its tokens. They count only if
 * both are there.
 */
const WORDS: readonly (readonly [opening: string, closing: string])[] = [
  ["Here is my thought process:", "Here is my response:"],
  ["Here's my thought process:", "Here's my response:"],
  ["Here are my reasoning steps:", "[BEGIN FINAL RESPONSE]"],
  ["Thinking...\n", "\n...done thinking."],
  ["analysis", "assistantfinal"],
];

/** Harmony's channels. One with `to=` is a call. */
const CHANNEL =
  /(?:<\|start\|>assistant)?<\|channel\|>(analysis|commentary|final)\s?(?:<\|constrain\|>\w{1,20})?<\|message\|>/y;
const CHANNEL_END = /<\|(end|start|channel)\|>/g;

/** Frames of what is for the reader. Tags count only behind thinking. */
const FRAMES: readonly (readonly [opening: string, closing: string])[] = [
  ["<|begin_of_solution|>", "<|end_of_solution|>"],
  ["<|START_RESPONSE|>", "<|END_RESPONSE|>"],
  ["<|START_TEXT|>", "<|END_TEXT|>"],
  ["<response>", "</response>"],
  ["<answer>", "</answer>"],
];
const ENDS = ["<|return|>", "<|end|>", "[END FINAL RESPONSE]"];

/**
 * Takes off the thinking that a server left in a text. It counts at the beginning, also several
 * times in a row; what is not closed is all of the text. A closing tag without its opening, which
 * the server's template wrote, counts if it stands alone on its line outside of fences, or right behind the last word of a
 * paragraph, with text behind it. Elsewhere a text speaks of such tags. Also takes off the marks of its turn, and
 * turns that the model invented behind it.
 *
 * @param shown the texts that the model was shown: a tag that stands there may be quoted
 */
export function withoutThinking(text: string, shown: readonly string[]): Spoken {
  const isShown = shownAmong(shown);
  const begun = turnStart(text, 0, isShown);
  let at = begun;
  for (let end = thinkingEnd(text, at, isShown); end !== at; end = thinkingEnd(text, at, isShown)) at = end;
  const { end, told, isEnded } = ownTurn(text, at, isShown);
  const own = text.slice(0, end);
  const unopened = at < own.length ? unopenedEnd(own, at, isShown) : null;
  at = unopened ?? at;
  const isThought = at > begun;
  const start = finalStart(own, at);
  const spoken = own.slice(start);
  const isWhole = !isThought && start === begun && !isFramed(own);
  const said = isWhole ? spoken : withoutFrames(spoken.trim());
  const mended = [...(unopened === null ? [] : [UNOPENED]), ...(told === undefined ? [] : [told])];
  return {
    text: VISIBLE.test(said) || said.trim() === "" ? said : "",
    isThought,
    ...(isEnded && said.trim() !== "" ? { isEnded } : {}),
    ...(mended.length === 0 ? {} : { mended }),
  };
}

/** A character that shows something. */
const VISIBLE = /[^\s\p{Cf}]/u;

/**
 * The offset behind the block of thinking that begins at `at`, white space aside; `at`: none does.
 */
function thinkingEnd(text: string, at: number, isShown: IsShown): number {
  const start = at + spacesAt(text, at);
  const channel = matchAt(CHANNEL, text, start);
  if (channel) return channelEnd(text, start, channel) ?? at;
  const tag = matchAt(OPENING_TAG, text, start);
  if (tag) {
    const [opening, name = ""] = tag;
    const isAskedFor = ASKED_FOR.has(name.toLowerCase()) && isShown(`<${name}`);
    return isAskedFor ? at : closingEnd(text, start + opening.length, name, isShown);
  }
  const mark = MARKS.find(([opening]) => text.startsWith(opening, start));
  if (mark) return behind(text, mark[1], start) ?? text.length;
  const words = WORDS.find(([opening]) => text.startsWith(opening, start));
  return (words && behind(text, words[1], start)) ?? at;
}

/**
 * The offset behind the closing tag of this name, else behind the first of another one; the text's
 * length if there is none. Tags within are closed first, if the model was not shown them.
 */
function closingEnd(text: string, from: number, name: string, isShown: IsShown): number {
  const opening = `<${name.toLowerCase()}>`;
  let other: number | undefined;
  let last: number | undefined;
  let before = from;
  let open = 1;
  CLOSING_TAG.lastIndex = from;
  for (let tag = CLOSING_TAG.exec(text); tag !== null; tag = CLOSING_TAG.exec(text)) {
    const end = tag.index + tag[0].length;
    other ??= end;
    if (tag[1]?.toLowerCase() !== name.toLowerCase()) continue;
    last = end;
    open += text.slice(before, tag.index).toLowerCase().split(opening).length - 2;
    before = end;
    if (open === 0 || isShown(tag[0])) return end;
  }
  return last ?? other ?? text.length;
}

/**
 * The offset behind a channel of thinking; null: it is the reply. A preamble is thinking if
 * something follows it.
 */
function channelEnd(text: string, start: number, [opening, name]: RegExpExecArray): number | null {
  if (name === "final") return null;
  CHANNEL_END.lastIndex = start + opening.length;
  const end = CHANNEL_END.exec(text);
  if (end === null) return name === "analysis" ? text.length : null;
  const next = end[1] === "end" ? end.index + end[0].length : end.index;
  return name === "analysis" || next + spacesAt(text, next) < text.length ? next : null;
}

/** The offset at which the reply begins: behind the opening of its channel. */
function finalStart(text: string, at: number): number {
  const start = at + spacesAt(text, at);
  const channel = matchAt(CHANNEL, text, start);
  return channel ? start + channel[0].length : at;
}

/** The offset behind the last closing tag of thinking that has no opening; null: there is none. */
function unopenedEnd(text: string, from: number, isShown: IsShown): number | null {
  let found: number | null = null;
  let isFenced = false;
  const first = from + spacesAt(text, from);
  const last = text.trimEnd().length;
  for (let at = first; at < last; ) {
    const end = text.indexOf("\n", at);
    const next = end < 0 ? text.length : end + 1;
    const line = text.slice(at, Math.min(next, at + LONGEST_LINE)).trim();
    const isFence = line.startsWith("```") || line.startsWith("~~~");
    if (isFence) isFenced = !isFenced;
    const tag = next - at < LONGEST_LINE && isClosing(line) ? line : closingOf(text, at, next);
    if (tag !== undefined && !isFenced && next < last && !isShown(tag)) found = next;
    at = next;
  }
  if (found === null) return emptyEnd(text, first, isShown);
  return ANY_OPENING.test(text.slice(from, found)) ? null : found;
}

/** The offset behind a closing tag that the text begins with: the thinking was empty. */
function emptyEnd(text: string, start: number, isShown: IsShown): number | null {
  CLOSING_TAG.lastIndex = 0;
  const tag = CLOSING_TAG.exec(text.slice(start, start + LONGEST_LINE));
  const closing = tag?.index === 0 ? tag[0] : MARKS.find((mark) => text.startsWith(mark[1], start))?.[1];
  if (closing === undefined || isShown(closing)) return null;
  return start + closing.length < text.length ? start + closing.length : null;
}

/** No line of a closing tag is longer. */
const LONGEST_LINE = 100;

/** The closing tag right behind the last word of a paragraph. */
function closingOf(text: string, start: number, next: number): string | undefined {
  const line = text.slice(Math.max(start, next - LONGEST_LINE), next).trimEnd();
  const found = BEHIND_WORD.exec(line)?.[0].slice(1);
  return found !== undefined && isClosing(found) && /^[ \t]*\r?\n/.test(text.slice(next)) ? found : undefined;
}

const BEHIND_WORD = /[\p{L}\p{N}.!?。！？](?:<\/[\w:]{1,20}>|\[\/THINK\]|◁\/think▷)$/u;

function isClosing(line: string): boolean {
  CLOSING_TAG.lastIndex = 0;
  return CLOSING_TAG.exec(line)?.[0] === line || MARKS.some(([, closing]) => closing === line);
}

type IsShown = (tag: string) => boolean;

/**
 * Tells whether a tag stands in these texts. Each tag is looked for once: a reply may repeat it on
 * all its lines.
 */
function shownAmong(shown: readonly string[]): IsShown {
  const known = new Map<string, boolean>();
  return (tag) => {
    const wanted = tag.toLowerCase();
    const isThere = known.get(wanted) ?? shown.some((text) => text.toLowerCase().includes(wanted));
    known.set(wanted, isThere);
    return isThere;
  };
}

/** True if a text without thinking stands between special tokens. */
function isFramed(text: string): boolean {
  return FRAMES.some(([opening]) => opening.startsWith("<|") && text.trimStart().startsWith(opening));
}

function withoutFrames(text: string): string {
  let rest = text;
  const trailing = ENDS.find((end) => rest.endsWith(end));
  if (trailing !== undefined) rest = rest.slice(0, -trailing.length).trim();
  const frame = FRAMES.find(([opening]) => rest.startsWith(opening));
  if (!frame) return rest;
  const [opening, closing] = frame;
  if (!rest.endsWith(closing)) return opening.startsWith("<|") ? rest.slice(opening.length).trim() : rest;
  return rest.slice(opening.length, -closing.length).trim();
}

/** The offset behind the next occurrence of these words; null: there is none. */
function behind(text: string, words: string, from: number): number | null {
  const found = text.indexOf(words, from);
  return found < 0 ? null : found + words.length;
}

/** The number of characters of white space at an offset. */
function spacesAt(text: string, at: number): number {
  return matchAt(SPACES, text, at)?.[0].length ?? 0;
}

const SPACES = /\s*/y;

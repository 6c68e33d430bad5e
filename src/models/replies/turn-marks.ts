import { matchAt } from "./value-places.ts";

/** The part of a reply that its model wrote in the turn it was asked for. */
interface OwnTurn {
  readonly end: number;
  /** The kind of mending that a warning names; absent: nothing but marks was left out. */
  readonly told?: string;
  /** A mark ends it within the reply. */
  readonly isEnded?: true;
}

const INVENTED = "turns behind its end";
const WITHIN = "kept marks of turns";

/** The end of a turn in chat templates. */
const END =
  /<\|(?:im_end|eot_id|eom_id|eot|end|return|end_of_text|endoftext|end_of_turn|endofturn|END_OF_TURN_TOKEN|role_end)\|>|<end_of_turn>|<turn\|>|<｜end▁of▁sentence｜>|<(?:seed:)?eos>|\[\|endofturn\|\]|\[e~\[|<\/s>/
    .source;
/** The beginning of a turn, also of one in which a tool answers. */
const BEGINNING =
  /<\|(?:im_start|start_header_id|header_start|start_of_role|START_OF_TURN_TOKEN|turn_start|user|assistant|system|observation|tool|im_user|im_assistant|im_system)\|>|<start_of_turn>|<\|turn>|<｜(?:User|Assistant)｜>|\[\/?INST\]|\[\|(?:user|assistant|system)\|\]|<(?:tool_response|tool_results?|function_results?|function_response)>|\[TOOL_RESULTS\]|<｜tool▁outputs?▁begin｜>/
    .source;
/** The beginning of the turn in which the model answers. */
const ASSISTANT =
  /\s{0,9}(?:<\|(?:im_start|turn_start)\|>assistant|<\|(?:start_header_id|header_start|start_of_role)\|>assistant<\|(?:end_header_id|header_end|end_of_role)\|>|<start_of_turn>model|<\|turn>model|<\|START_OF_TURN_TOKEN\|><\|CHATBOT_TOKEN\|>|<\|im_assistant\|>assistant<\|im_middle\|>|<\|assistant\|>|<｜Assistant｜>|\[\|assistant\|\])\s{0,9}/y;

/** A mark behind a word. Behind a space, a quote or in brackets a sentence names it. */
const BEHIND_WORD = `(?<![ \\t"'“‘(]|(?<!^ {0,3}\`\`)\`)(?:(${END})|${BEGINNING})(?!["'\`”’)])`;
/**
 * An end with the beginning of the next turn behind it. It counts unless a quote or a bracket
 * opens before it.
 */
const BEFORE_TURN = `(?<!(?:^|[\\s([])["'\`]|[“‘([])(${END})(?=\\s{0,9}(?:<s>\\s{0,9})?(?:${BEGINNING}))`;
const MARK = new RegExp(`${BEHIND_WORD}|${BEFORE_TURN}`, "gm");
/** Harmony ends each message of a turn so. */
const NEXT_MESSAGE = /\s{0,9}<\|start\|>assistant/y;
/** Words that a sentence goes on with. */
const GOES_ON = /[ \t]{0,9}[\p{Ll},.;:]/uy;
const LAST = new RegExp(`(?<![ \\t])(?:${END}|<\\|(?:user|observation)\\|>)\\s{0,9}$`);

/**
 * The offset behind the beginning of the model's turn, which its server left in the text; `from`:
 * there is none.
 */
export function turnStart(text: string, from: number, isShown: (mark: string) => boolean): number {
  const begun = matchAt(ASSISTANT, text, from);
  return begun && !isShown(begun[0].trim()) ? from + begun[0].length : from;
}

/**
 * Finds where a model's turn ends in its reply. A model that its server did not stop invents
 * turns that nobody took: they are no part of its answer. Marks in fences, and those that the model
 * was shown, are spoken of.
 */
export function ownTurn(text: string, from: number, isShown: (mark: string) => boolean): OwnTurn {
  const whole = { end: withoutLast(text, from, isShown) };
  const struck = struckFrom(text);
  const fences = fencesIn(text).values();
  let fence = fences.next().value;
  MARK.lastIndex = from;
  for (let mark = MARK.exec(text); mark !== null && mark.index < whole.end; mark = MARK.exec(text)) {
    const [words, behindWord, beforeTurn] = mark;
    const end = behindWord ?? beforeTurn;
    const { index } = mark;
    const behind = index + words.length;
    while (fence && fence[1] <= index) fence = fences.next().value;
    const isSpokenOf = (fence && fence[0] < index) || isShown(words);
    const isStruck = words === "</s>" && struck < index;
    if (isSpokenOf || isStruck || (words === "<|end|>" && matchAt(NEXT_MESSAGE, text, behind))) continue;
    if (end === undefined || matchAt(GOES_ON, text, behind)) return { ...whole, told: WITHIN };
    return { end: index, told: INVENTED, isEnded: true };
  }
  return hasSpokenTurns(text.slice(from, whole.end), isShown) ? { ...whole, told: WITHIN } : whole;
}

/**
 * The beginnings of lines in which models without a chat template invent what others say, and then
 * answer again.
 */
const SPOKEN: readonly (readonly [other: RegExp, own: RegExp])[] = [
  [/^(?:user|human) ?:/i, /^(?:assistant|ai|bot|model) ?:/i],
  [/^#{2,3} ?(?:instruction|human|user|input)\b ?:?/i, /^#{2,3} ?(?:response|assistant|output)\b ?:?/i],
];

/**
 * True if a line behind the first one begins as a turn of another speaker, and a later one as the model's. A text that is asked for may
 * look so, so that it stays as it is.
 */
function hasSpokenTurns(text: string, isShown: (mark: string) => boolean): boolean {
  const lines = withoutFences(text).split("\n").slice(1);
  return SPOKEN.some(([other, own]) => {
    const at = lines.findIndex((line) => {
      const [begun] = other.exec(line) ?? [];
      return begun !== undefined && !isShown(begun);
    });
    return at >= 0 && lines.slice(at + 1).some((line) => own.test(line));
  });
}

function withoutFences(text: string): string {
  const fences = fencesIn(text);
  return [0, ...fences.map(([, closing]) => closing)].map((start, at) => text.slice(start, fences[at]?.[0])).join("");
}

/** The end of a text without marks of its turn's end, unless the model was shown them. */
function withoutLast(text: string, from: number, isShown: (mark: string) => boolean): number {
  const struck = struckFrom(text);
  let end = text.length;
  for (let mark = lastMark(text, end); mark !== null && end - mark[0].length >= from; mark = lastMark(text, end)) {
    const words = mark[0].trim();
    if (isShown(words) || (words === "</s>" && struck < end)) break;
    end -= mark[0].length;
  }
  return end;
}

const lastMark = (text: string, end: number) => LAST.exec(text.slice(Math.max(0, end - LAST_UNITS), end));
/** More than a mark has, with the white space behind it. */
const LAST_UNITS = 50;

/** The place from which on `</s>` ends words that are struck out. */
function struckFrom(text: string): number {
  const at = text.search(/<s[ >]/i);
  return at < 0 ? text.length : at;
}

/** The fences of a text that are closed. */
function fencesIn(text: string): readonly (readonly [opening: number, closing: number])[] {
  const places = [...text.matchAll(/^ {0,3}(?:```|~~~)/gm)].map(({ index }) => index);
  return places.flatMap((opening, at) => {
    const closing = places[at + 1];
    return at % 2 === 0 && closing !== undefined ? [[opening, closing] as const] : [];
  });
}

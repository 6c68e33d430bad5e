import { LIMITS } from "../../runtime/index.ts";
import { syntaxCure } from "../../runtime/suggestions.ts";
import { jsonParts } from "../../src/cli/render/value.ts";
import { compileFind, find, textFromString } from "../../src/context/index.ts";
import { isIgnoredName, noRules, withRuleText } from "../../src/context/load/ignore-rules.ts";
import { matchGlob } from "../../src/context/load/paths.ts";
import { parseRoutes } from "../../src/context/routes/entries.ts";
import { CHUNK_UNITS } from "../../src/context/search/chunks.ts";
import { queryWords } from "../../src/context/search/query-words.ts";
import { tokensOf } from "../../src/context/search/tokens.ts";
import { SCORE_NAMES, scoreOf } from "../../src/eval/scores.ts";
import { explain } from "../../src/models/pi-ai/refusal.ts";
import { withoutThinking } from "../../src/models/replies/thinking.ts";
import { readValue } from "../../src/models/replies/value-in-text.ts";
import { keysIn, redacted, redactedStart, withoutKeys } from "../../src/platform/redact.ts";
import { inLine } from "../../src/platform/visible.ts";
import { readJson } from "../../src/platform/written-json.ts";
import { csvLine } from "../../src/runs/results.ts";
import { endOfCell, isCellAlone, literalAnswer, proseIn, reading } from "../../src/session/ask/reply.ts";
import { unfilledIn } from "../../src/session/ask/unfilled.ts";
import { openLines } from "../../src/session/machine/passages.ts";
import { withoutPasswords } from "../../src/store/store-place.ts";
import { LISTED } from "./patterns.ts";

// What reads a text that a file, a model, a provider or a row gives, with texts that take a backtracking matcher long.

/** A reader of texts, and the longest text that it gets, UTF-16 units. */
export interface TextReader {
  readonly id: string;
  readonly units: number;
  /** True if it runs in a thread or a process beside the main one. */
  readonly isApart?: true;
  read(text: string): unknown;
  /** Texts that took it long once; each is repeated up to the bound. */
  readonly known?: readonly string[];
}

/** A model's answer has no more bytes. */
const ANSWER = 200_000;
/** Pieces of calls in the text of a reply. */
const CALL_PIECES = [
  ...[
    "<tool_call>\n",
    "<function=a>",
    "<parameter=code>",
    "<arg_key>",
    "call:a{b:<escape>",
    "<a><code>",
    "rlm_exec(",
    "\n",
  ],
  ...[
    '{"name": "rlm_exec"',
    "[{",
    '"""',
    'a="',
    "\n```json\n{",
    "[TOOL_CALLS]",
    "functions.a:0",
    "answer(`",
    "FINAL(",
    "a:",
  ],
];
const LINES = Array.from({ length: 40_000 }, (_, at) => `line number ${at}`).join("\n");
const PLACE = { id: "a/b", api: "openai-completions", address: "http://x", isNamed: false, near: [] };
const SEEN = { status: null, retryAfterMs: null, networkError: null };

export const READERS: readonly TextReader[] = [
  {
    ...{ id: "a rule file", units: 256 * 1024, known: [" ", "\\ ", "*/", "[a"] },
    read: (text) => isIgnoredName(withRuleText(noRules("/"), "", Buffer.from(`a${text}b `)).rules, "a/b/c", false),
  },
  {
    ...{ id: "an error of a provider", units: 900_000, known: ["-eyJ", "eyJ.", "input token count "] },
    read: (said) => explain({ place: PLACE, said, seen: { ...SEEN }, secrets: ["secret-key"], tokens: 1 }),
  },
  {
    ...{ id: "an answer that is scored", units: ANSWER, known: [" ", " .", "1,"] },
    read: (text) => SCORE_NAMES.map((name) => scoreOf(name, `a${text}b`, name === "count" ? 1 : ["x"])),
  },
  {
    ...{ id: "the thinking of a reply", units: 2 * ANSWER },
    known: [
      "<think>a</think>",
      "<think ",
      "</think>\n",
      "<|channel|>analysis<|message|><|end|>",
      "[THINK][/THINK]",
      " ",
    ],
    read: (text) => withoutThinking(text, [text.slice(0, 1000)]),
  },
  {
    ...{ id: "a reply of a root model", units: ANSWER, known: ["~", "```\t", "~~~\r", "```\t a", ...CALL_PIECES] },
    read: (given) => {
      const texts = [`~~~${given}\``, given, `<tool_call>${given}`, `rlm_exec(code="${given}`, `FINAL(${given})`];
      return texts.map((text) => {
        const reply = { text, toolUses: [] };
        const by = { protocol: "tools", hasCalled: false, shown: [given] } as const;
        const read = reading(reply, by);
        const open = unfilledIn(text, [given]);
        return [read, literalAnswer(read), proseIn({ ...reply, read }), endOfCell(reply, by), isCellAlone(read), open];
      });
    },
  },
  {
    ...{ id: "an answer with a schema", isApart: true, units: ANSWER, known: ['\\"', '{"', "{'a':1}", "```\n", "<a"] },
    read: (text) => [`{"${text}`, `{'a':1}${text}{'a':2}`].map((one) => readValue(one, {}, [one])),
  },
  {
    ...{ id: "a value of a table of results", units: ANSWER, known: ["1"] },
    read: (text) => csvLine([`-${text}x`]),
  },
  { ...{ id: "a message with the URL of a store", units: ANSWER, known: ["ab://x:", "a."] }, read: withoutPasswords },
  { id: "a text on a terminal", units: ANSWER, read: inLine },
  { id: "JSON for a terminal", units: ANSWER, read: (text) => jsonParts(JSON.stringify([text, { [text]: 1 }])) },
  { id: "JSON that somebody wrote", units: ANSWER, read: (text) => readJson(JSON.stringify([text])) },
  {
    ...{ id: "a text with keys", units: 1_000_000, known: ["eyJ", "-eyJ", "postgres://u:"] },
    read: (text) => [redacted(text), keysIn(text), redactedStart(text, 500), withoutKeys(text, [])],
  },
  { id: "a glob", units: 4096, known: ["["], read: (text) => ended(() => matchGlob(text, ["a/b.txt"])) },
  {
    ...{ id: "an AGENTS.md", units: 1_000_000, known: ["`", "- ["] },
    read: (text) => parseRoutes("AGENTS.md", `- [a](${text}\u2028`),
  },
  {
    ...{ id: "a prompt with lines of P", units: 2 ** 20, known: ["a ,"] },
    read: (text) => [...openLines(textFromString(LINES)).in(`a${text}b`)],
  },
  { id: "words for search", isApart: true, units: 1_000_000, read: (text) => tokensOf(text).length },
  {
    ...{ id: "the best line of a chunk", isApart: true, units: CHUNK_UNITS, known: ["ab_", "a-", "A"] },
    read: (text) => queryWords("a abstract 2b readFile").bestLine(text),
  },
  {
    id: "a cell that is not JavaScript",
    isApart: true,
    units: LIMITS.sourceBytes,
    known: ["[ for a in "],
    read: (text) => syntaxCure("", text),
  },
  {
    ...{ id: "a pattern of find", isApart: true, units: 16_384, known: ["\\p{"] },
    read: (text) => ended(() => find(textFromString("a"), compileFind(text, ""), 1)),
  },
];

/** What a reader gives, or throws: both are an end. */
function ended(read: () => unknown): unknown {
  try {
    return read();
  } catch (error) {
    return error;
  }
}

/** Patterns of the list as readers: each replaces all its matches. */
const OF_PATTERNS: readonly TextReader[] = LISTED.flatMap(({ pattern, units }) => {
  if (units === null) return [];
  const end = pattern.lastIndexOf("/");
  const flags = `${pattern.slice(end + 1).replaceAll(/[gy]/g, "")}g`;
  const all = new RegExp(pattern.slice(1, end), flags);
  return [{ id: pattern, units, known: piecesOf(pattern), read: (text) => text.replace(all, "").length }];
});

export const TEXT_READERS: readonly TextReader[] = [...READERS, ...OF_PATTERNS];

/** Words and signs of a pattern, which begin and end its parts. */
function piecesOf(pattern: string): string[] {
  const words = [...pattern.matchAll(/[A-Za-z][A-Za-z_ -]{1,20}|[^\w\\]/g)].map(([word]) => word);
  return [...new Set(words), words.join("").slice(0, 30)].filter((word) => word !== "");
}

const UNITS = [
  ...[
    " ",
    "\n",
    "\t",
    "\r",
    "a",
    "A",
    "0",
    "1.",
    "é",
    "語",
    "_",
    "-",
    "/",
    "\\",
    '"',
    "'",
    "`",
    "~",
    "[",
    "]",
    "(",
    "{",
    "<",
  ],
  ...[
    "*",
    ",",
    ".",
    ":",
    "=",
    "@",
    "#",
    "a ",
    "a-",
    "a.",
    "1,",
    '\\"',
    "```",
    "://",
    "a@",
    "\u2028",
    "\u200d",
    "\ud83d\ude00",
  ],
];

/** Texts of a length that are one unit over and over, each with an end that fits and one that does not. */
function* hostileTexts({ units, known = [] }: TextReader): Generator<readonly [of: string, text: string]> {
  for (const unit of new Set([...known, ...UNITS])) {
    const text = unit.repeat(Math.floor(units / unit.length));
    for (const end of ["", "\u0001"]) yield [`${JSON.stringify(unit)} and ${JSON.stringify(end)}`, text + end];
  }
}

/** The text that a reader took longest for, and the ms of a core that it took: the shortest of some tries. */
export function slowest(reader: TextReader): { readonly of: string; readonly ms: number; readonly texts: number } {
  let found = { of: "", ms: 0, texts: 0 };
  let texts = 0;
  for (const [of, text] of hostileTexts(reader)) {
    texts += 1;
    let ms = Number.POSITIVE_INFINITY;
    for (let tries = 0; tries < TRIES && ms > found.ms && (tries === 0 || ms < LONG_MS); tries++) {
      const begun = process.cpuUsage();
      reader.read(text);
      ms = Math.min(ms, process.cpuUsage(begun).user / 1000);
    }
    if (ms > found.ms) found = { of, ms, texts };
  }
  return { ...found, texts };
}

const TRIES = 5;
/** A reader that takes so long is not timed again. */
const LONG_MS = 1000;

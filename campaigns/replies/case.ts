import { readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import type { Json } from "../../runtime/index.ts";
import type { AskOptions, SessionOptions } from "../../src/index.ts";

/** The API that the scripted server speaks. `chat` is a server named by its address, `chat-listed` one of Pi's models.json. */
export type ReplyApi = "chat" | "chat-listed" | "responses" | "anthropic" | "gemini";

/** How a reply is asked for. */
export type Door =
  /** `llm_query` without tools. */
  | "text"
  | "schema"
  /** `llm_query` with the tools that read a folder of two files. */
  | "agent"
  /** An ask about a log of three lines. */
  | "ask"
  /** The `complete()` of a program, without tools and with them. */
  | "own"
  | "own-agent"
  /** Calls at once whose prompts begin alike. */
  | "fan"
  /** Rows of `belay batch`. */
  | "batch"
  /** The first reply is a row of a provider batch. */
  | "delivery";

/** A call of a tool as a model writes it. */
export interface ScriptedCall {
  /** Default: `rlm_exec`. */
  readonly name?: Json;
  /** The arguments as text, which may be no JSON. */
  readonly args: string;
  /** Default: one that no other call has. null: none is sent. */
  readonly id?: Json;
}

/** How a scripted server answers one request. */
export interface ScriptedReply {
  /** A list is one of the content's parts. */
  readonly text?: string | readonly string[];
  /** Thinking in the field that the API has for it. */
  readonly thinking?: string;
  readonly calls?: readonly ScriptedCall[];
  readonly refusal?: string;
  /** The reason to stop: `length`, or one in the API's own words; null sends none. */
  readonly stop?: string | null;
  /** Anthropic's words for a refusal. */
  readonly stop_details?: Json;
  /** Gemini's `promptFeedback.blockReason`. */
  readonly block?: string;
  /** Fields of the message, or of Gemini's candidate, beside those that the API always has. */
  readonly fields?: { readonly [name: string]: Json };
  readonly usage?: { readonly prompt: number; readonly completion: number; readonly cached?: number };
  /** False: the whole answer comes at once, though a stream was asked for. */
  readonly stream?: boolean;
  /** The parts of a text come one by one, each so many UTF-16 units long. */
  readonly pieces?: number;
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** The body as JSON, in place of an answer. */
  readonly body?: Json;
  /** The body as text, in place of an answer. */
  readonly raw?: string;
  /** Content type of `raw`. */
  readonly type?: string;
  /** The connection ends after the text, without a word about its end. */
  readonly broken?: boolean;
}

/** Everything that is to be seen when a case was played. Only what is there is compared. */
export interface Expected {
  /** The value of the call, or the answer of the ask. */
  readonly value?: Json;
  /** The value may have more fields than `value`. */
  readonly loose?: boolean;
  /** The value is another one. */
  readonly not?: Json;
  /** The code of the failure. */
  readonly fails?: string;
  /** A pattern in the message or the cure. Of a batch: in what the command prints. */
  readonly says?: string;
  readonly retriable?: boolean;
  readonly resumable?: boolean;
  /** Requests of the API. */
  readonly requests?: number;
  /** `[request, path]`: the body has no such field. `[request, path, value]`: it has this value. */
  readonly sent?: readonly (readonly [number, string, Json?])[];
  /** Patterns, each in a warning. */
  readonly warns?: readonly string[];
  /** There is no warning. */
  readonly quiet?: boolean;
  /** A pattern in what the last request tells the model after its own last words. */
  readonly told?: string;
  readonly toldNot?: string;
  /** Patterns, each in the code of a cell that ran. */
  readonly ran?: readonly string[];
  readonly notRan?: readonly string[];
  /** `answered_by` of an ask. */
  readonly by?: string;
  /** Requests of a fan that the server's cache served. */
  readonly hits?: number;
  /** Requests of a fan in which a beginning is marked for Anthropic's cache. */
  readonly marked?: number;
  /** All requests of a fan came within so many ms. */
  readonly within?: number;
  /** The exit code of a batch. */
  readonly exit?: number;
  /** No more requests than these. */
  readonly most?: number;
  /** Calls of a fan, or rows of a batch, that have an answer. */
  readonly done?: number;
  readonly failed?: number;
  /** One of these has to be as it was seen. */
  readonly any?: readonly Expected[];
}

/** A case: replies of a model, how they are asked for, and what has to come of them. */
export interface Case {
  readonly id: string;
  /** The group that its result is counted in. */
  readonly kind: string;
  readonly door: Door;
  /** Default: `chat`. */
  readonly api?: ReplyApi;
  /** Answers before `replies`. */
  readonly prelude?: readonly ScriptedReply[];
  /** In the order of the requests; the last one repeats. Of `own-agent`: `calls` asks for the tool. */
  readonly replies: readonly ScriptedReply[];
  readonly expect: Expected;
  /** Default: `What is it?`, or the question about the log. */
  readonly prompt?: string;
  /** Options of llm_query. */
  readonly options?: { readonly [name: string]: Json };
  readonly schema?: Json;
  readonly ask?: AskOptions;
  readonly session?: SessionOptions;
  /** Fields of its model in Pi's models.json, for an API other than `chat`. */
  readonly listed?: { readonly [name: string]: Json };
  /** The call is made so often, one after the other (default 1). */
  readonly times?: number;
  /** JSON that the server answers to other requests, such as `GET /v1/models`. Others get 404. */
  readonly routes?: Readonly<Record<string, Json>>;
  /** Of `own-agent`: the id and the arguments of the call. */
  readonly uid?: Json;
  readonly args?: Json;
  /** Of a fan: the units that its prompts share, how many calls it has, and the time until a first token, ms. */
  readonly share?: number;
  readonly n?: number;
  readonly firstMs?: number;
  /** Each prompt begins otherwise. */
  readonly differ?: boolean;
  /** The common part is the system prompt. */
  readonly inSystem?: boolean;
  /** The first request is refused. */
  readonly failFirst?: boolean;
  readonly groups?: number;
  /** Of a batch: the number of rows, replies by the number of the row, and the seconds after which it is interrupted. */
  readonly rows?: number;
  readonly byRow?: Readonly<Record<string, ScriptedReply>>;
  readonly stopAfter?: number;
}

const FOLDER = join(import.meta.dirname, "cases");

/** The files of cases, sorted by name. */
export const CASE_FILES: readonly string[] = readdirSync(FOLDER)
  .filter((name) => name.endsWith(".jsonl"))
  .sort()
  .map((name) => join(FOLDER, name));

/** @throws Error for a line that is no case, and for an id that two cases have */
export function readCases(files: readonly string[] = CASE_FILES): readonly Case[] {
  const cases = files.flatMap(casesOf);
  const ids = new Set<string>();
  for (const { id } of cases) {
    if (ids.has(id)) throw new Error(`two cases have the id ${id}`);
    ids.add(id);
  }
  return cases;
}

function casesOf(file: string): readonly Case[] {
  return readFileSync(file, "utf8")
    .split("\n")
    .flatMap((line, at) => {
      if (line.trim() === "") return [];
      const place = `${basename(file)}:${at + 1}`;
      const read: Case = parsed(line, place);
      if (!read.id || !read.door || !read.replies || !read.expect)
        throw new Error(`${place}: a case has an id, a door, replies and what is expected`);
      return [read];
    });
}

function parsed(line: string, place: string): Case {
  try {
    return JSON.parse(line);
  } catch (error) {
    throw new Error(`${place}: ${error instanceof Error ? error.message : error}`);
  }
}

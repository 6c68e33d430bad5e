import type { ToolResultEvent } from "@mariozechner/pi-coding-agent";
import * as v from "valibot";
import { messageOf } from "../../platform/errors.ts";
import type { BranchEntry } from "../externalize/message.ts";
import { type Served, serve } from "./decide.ts";
import { isThere, readPath, readTextFile } from "./file.ts";
import { type BranchReading, callsIn, knownAt } from "./happened.ts";
import { FULL, hasMeta, type Meta } from "./meta.ts";
import { prove, type ReadResult } from "./proof.ts";
import type { Sent } from "./sent.ts";
import { suffixOf, type Texts } from "./texts.ts";

/** The part of an event's context that is used. */
export interface ReadContext {
  readonly cwd: string;
  readonly signal: AbortSignal | undefined;
  readonly sessionManager: { getBranch(): readonly BranchEntry[] };
}

interface FollowParts {
  /** Names of files that are never looked at, beside those that hold secrets. */
  exempt(): readonly string[];
  readonly sent: Pick<Sent, "has">;
  readonly texts: Pick<Texts, "read" | "keep">;
  /** The model has the tool that asks for a text again. */
  isRefreshOffered(): boolean;
}

export interface ReadFollower {
  /** The branch as reads see it now. */
  reading(options: Pick<ReadContext, "cwd" | "sessionManager">): BranchReading;
  readonly failures: { count: number; last: string };
  /** Lines at the end of a path become arguments; answers what is wrong with them, or null. */
  called(input: Record<string, unknown>, options: Pick<ReadContext, "cwd">): Promise<string | null>;
  /**
   * The text that is sent instead of Pi's answer, and its details; null: Pi's answer stays as it
   * is.
   */
  answered(event: ToolResultEvent, context: ReadContext): Promise<Served | null>;
}

/**
 * Reads that Pi answers, one after the other. Nothing here rejects: what fails leaves Pi's own
 * answer.
 */
export function openReadFollower({ exempt, sent, texts, isRefreshOffered }: FollowParts): ReadFollower {
  const served = openServed();
  const failures = { count: 0, last: "" };
  let gate: Promise<unknown> = Promise.resolve();

  /** The branch as reads see it now. */
  function reading({ cwd, sessionManager }: Pick<ReadContext, "cwd" | "sessionManager">): BranchReading {
    return { branch: sessionManager.getBranch(), cwd, wasSent: sent.has, served: served.find };
  }

  async function answer(event: ToolResultEvent, context: ReadContext): Promise<Served | null> {
    const read = readIn(event);
    if (!read) return null;
    const pathKey = await readPath(read.path, context.cwd);
    const file = await readTextFile(pathKey, exempt());
    const shown = file && prove(read, file.text);
    if (!shown) return null;
    const now = reading(context);
    const known = knownAt(pathKey, event.toolCallId, now);
    const { path, text } = read;
    const isAborted = () => context.signal?.aborted === true;
    const answered = await serve(
      { path, file, shown, known, isRefreshOffered: isRefreshOffered() },
      { text, pathKey },
      { earlier: texts.read, isAborted },
    );
    if (!answered || isAborted()) return null;
    if (answered.meta.scopeKey === FULL) texts.keep(file.hash, file.text);
    served.note(now.branch, event.toolCallId, answered.meta);
    return answered;
  }

  return {
    reading,
    failures,
    called: (input, { cwd }) => withLines(input, cwd).catch(() => null),
    answered(event, context) {
      // One at a time: reads of one answer see one another.
      const turn = gate
        .then(() => answer(event, context))
        .catch((error: unknown) => {
          failures.count += 1;
          failures.last = messageOf(error);
          return null;
        });
      gate = turn;
      return turn;
    },
  };
}

/**
 * Answers that are kept for calls without a result on the branch: those of one answer of the model,
 * and so not many.
 */
const SERVED = 256;

/** Providers may give an id again, so that the entry with the call is a part of the key. */
function openServed() {
  const served = new Map<string, Meta>();
  const keyOf = ({ id = "" }: BranchEntry, call: string) => `${id} ${call}`;
  return {
    find: (entry: BranchEntry, call: string) => served.get(keyOf(entry, call)),
    note(branch: readonly BranchEntry[], call: string, meta: Meta) {
      const entry = branch.findLast((one) => callsIn(one).some(({ id }) => id === call));
      if (entry) served.set(keyOf(entry, call), meta);
      for (const [oldest] of served) if (served.size > SERVED) served.delete(oldest);
    },
  };
}

/**
 * A read that Pi has answered with a text. Returns null for what is not a plain text of the tool
 * `read`: an error, an image, the answer of another cache, or a nested call, whose program is to
 * get the text.
 */
function readIn(event: ToolResultEvent): (ReadResult & { readonly path: string }) | null {
  const { toolName, isError, content, details } = event;
  if (toolName !== "read" || isError || hasMeta(details) || v.is(NestedSchema, event)) return null;
  const input = v.safeParse(InputSchema, event.input);
  const [block, ...others] = content;
  if (!input.success || block?.type !== "text" || others.length > 0) return null;
  const { path, offset, limit } = input.output;
  const cut = v.safeParse(CutSchema, details);
  return { path, offset, limit, text: block.text, truncation: cut.success ? cut.output.truncation : undefined };
}

const NestedSchema = v.object({ parentToolCallId: v.string() });
const InputSchema = v.object({ path: v.string(), offset: v.optional(v.unknown()), limit: v.optional(v.unknown()) });
const CutSchema = v.object({ truncation: v.optional(v.unknown()) });

/**
 * Makes arguments of the lines that stand at the end of a path; answers what is wrong with them, or
 * null.
 */
async function withLines(input: Record<string, unknown>, cwd: string): Promise<string | null> {
  const { path, offset, limit } = input;
  if (typeof path !== "string" || offset !== undefined || limit !== undefined) return null;
  const suffix = suffixOf(path);
  if (!suffix || (await isThere(path, cwd)) || !(await isThere(suffix.path, cwd))) return null;
  if (suffix.problem !== null) return suffix.problem;
  Object.assign(input, { path: suffix.path, offset: suffix.offset, limit: suffix.limit });
  return null;
}

import { relative } from "node:path";
import { type Wording, wordedEnvelope } from "../../runtime/index.ts";
import { largeNote } from "../context/large-note.ts";
import { amount } from "../platform/figures.ts";
import { shellWord, typedName } from "../platform/shell-word.ts";
import { inLine } from "../platform/visible.ts";
import type { LoadResult, Session } from "../session/index.ts";
import type { ToolEnvelope } from "./define.ts";

/** The cures that a model of any host can use itself, in the words of the tools. */
export const MODEL_CURES = {
  load: "load one with rlm_load",
  raiseTime: "raise max_execution_ms in limits_override",
  moreSections: "let more sections be read with max_sections",
  fewerSections: "ask again with a smaller max_sections",
  giveFunction: "ask the user to continue in the program that lends `*`",
  sendNow: 'pass delivery: "now"',
  thenLoad: "then load `*` with rlm_load",
  ownConverter: "ask the user to name a converter in `convert` in ~/.belay/config.json",
  correctConverter: "ask the user to correct `convert.*` in ~/.belay/config.json",
  nameEncoding: 'name its encoding in rlm_load, such as encoding: "*"',
  readLossily: "pass latin1 if it is unknown, which takes every byte",
};

/** An envelope in the words of a host, in which SESSION stands for the name of the session; null: none is open. */
export function inWordsOf(
  wording: Wording,
  envelope: ToolEnvelope,
  session: Pick<Session, "id" | "name"> | null,
): ToolEnvelope {
  const name = session ? shellWord(typedName(session)) : "SESSION";
  const named = Object.entries(wording).map(([cure, phrase]) => [cure, phrase.replaceAll("SESSION", name)]);
  return wordedEnvelope(envelope, Object.fromEntries(named));
}

export interface ToldUnfinished {
  readonly exec_id: string;
  /** As `belay show` has it, or `workflow`. */
  readonly kind: string;
  /** Its beginning. */
  readonly input: string;
  readonly suggestion: string;
}

/** An exec of a session that is unfinished, and the calls that finish it; null: there is none. */
export function unfinishedOf(session: Session): ToldUnfinished | null {
  const unfinished = session.unfinished();
  if (!unfinished) return null;
  const { exec_id, kind, input, workflow } = unfinished;
  const text = typeof input === "string" ? input : JSON.stringify(input);
  if (workflow) {
    const [, named = text] = /^\/\* (workflow .*?) \*\//.exec(text) ?? [];
    return { exec_id, kind: "workflow", input: named.slice(0, INPUT_CHARACTERS), suggestion: BY_WORKFLOW };
  }
  return { exec_id, kind, input: text.slice(0, INPUT_CHARACTERS), suggestion: BY_CALLING };
}

const BY_WORKFLOW =
  "The same rlm_workflow call goes on with it, and so does rlm_wait; rlm_load with reset: true gives it up. No other call runs before.";

const BY_CALLING =
  "The same call again finishes it, and any other call finishes it first; rlm_load with reset: true gives it up.";
const INPUT_CHARACTERS = 200;

const NAMED = 5;

/**
 * `2 files differ from what is loaded: a.txt, new.txt`; null if none does. @param paths absolute
 */
export function changedSentence(paths: readonly string[], cwd: string): string | null {
  if (paths.length === 0) return null;
  const names = paths.slice(0, NAMED).map((path) => inLine(relative(cwd, path)));
  const more = paths.length > NAMED ? `, … ${amount(paths.length - NAMED, "more", "more")}` : "";
  return `${amount(paths.length, "file differs", "files differ")} from what is loaded: ${names.join(", ")}${more}`;
}

/**
 * A model needs to know why files are missing, and not the name of each; of converted documents
 * those that lost something. It is told what works of a large P.
 */
export function shortened(stats: LoadResult["stats"]): LoadResult["stats"] & Pick<LoadResult, "note"> {
  const { skipped, converted, ...facts } = stats;
  const note = largeNote(stats);
  return {
    ...facts,
    ...(note === null ? {} : { note }),
    skipped: { ...skipped, files: skipped.files.slice(0, LISTED_FILES) },
    ...(converted ? { converted: { ...converted, files: lossy(converted.files).slice(0, LISTED_FILES) } } : {}),
  };
}

const lossy = (files: NonNullable<LoadResult["stats"]["converted"]>["files"]) =>
  files.filter(({ lost }) => lost.length > 0);

const LISTED_FILES = 20;

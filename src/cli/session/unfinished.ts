import { resolve } from "node:path";
import { type Json, RlmError, type Session } from "../../index.ts";
import { displayName } from "../../platform/ids.ts";

/** What the user wants to run. It decides whether an unfinished exec is the same. */
export interface Asked {
  readonly kind: "cell" | "query" | "ask";
  readonly input: string;
}

/** How the user may go on with a session that has an unfinished exec. */
export interface Unfinishing {
  readonly session: Session;
  /** null: it is only opened. */
  readonly asked: Asked | null;
  readonly contexts: readonly string[];
  readonly discard: boolean;
  /** The line that finishes it. */
  readonly resumeCommand: string;
}

/**
 * Looks after what was interrupted in a session, before anything else is run in it. Returns true if it is what the user
 * asks for, so that it is to be resumed.
 *
 * @throws RlmError `exec_unfinished` if it is something else
 */
export async function meetUnfinished({
  session,
  asked,
  contexts,
  discard,
  resumeCommand,
}: Unfinishing): Promise<boolean> {
  const unfinished = session.unfinished();
  if (!unfinished) return false;
  if (discard) {
    await session.discard();
    return false;
  }
  const { kind, input } = unfinished;
  if (asked?.kind === kind && textOf(input, "prompt") === asked.input) return true;
  // A load that did not end has left nothing: it begins again.
  const isLoad = kind === "load" || kind === "append";
  if (isLoad && contexts.some((given) => textOf(input, "path") === resolve(given) || isStdin(input, given))) {
    await session.discard();
    return false;
  }
  if (!asked) return false;
  throw new RlmError("exec_unfinished", `${displayName(session)} has an unfinished ${kind}: ${brief(input)}`, {
    suggestion: `\`${resumeCommand}\` finishes it; --discard gives it up and ${kind === "ask" ? AFTER_ASK : "goes on from before it"}.`,
  });
}

/** Cells of an ask are over one by one. */
const AFTER_ASK = "keeps the variables of its last cell";

const isStdin = (input: Json, given: string) => given === "-" && textOf(input, "name") === "stdin";

/** The first line of what was asked. */
export function brief(input: Json): string {
  const text = textOf(input, "prompt") ?? textOf(input, "path") ?? textOf(input, "name") ?? JSON.stringify(input);
  const [line = ""] = text.trim().split("\n", 1);
  return line.length > UNITS ? `${line.slice(0, UNITS)}…` : line;
}

const UNITS = 60;

/** The input itself, or its field of that name. */
function textOf(input: Json, name: string): string | undefined {
  const found: unknown = typeof input === "object" && input !== null ? Reflect.get(input, name) : input;
  return typeof found === "string" ? found : undefined;
}

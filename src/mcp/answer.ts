import type { Json, Wording } from "../../runtime/index.ts";
import { jsonText } from "../platform/visible.ts";
import type { Session } from "../session/index.ts";
import { beginning, bytesOf, fitted, inWordsOf, MODEL_CURES, type ToolEnvelope, withWarnings } from "../tools/index.ts";

/** The part of an answer that a client shows its model. */
export interface Shown {
  readonly bytes: number;
  /** True if it counts the answer as JSON, where quotes and backslashes take two. */
  readonly isEscaped: boolean;
}

/**
 * The client's view of an envelope: one line of JSON, cut to what the client shows, in the server's
 * words.
 *
 * @param rest where the rest of a long answer is, a sentence
 * @param session the one that is open
 */
export function answerOf(
  given: ToolEnvelope,
  warnings: readonly string[],
  rest: string,
  shown: Shown,
  session: Pick<Session, "id" | "name"> | null = null,
) {
  const envelope = inWordsOf(MCP, withWarnings(given, warnings), session);
  const { exec_id = envelope.ask_id } = envelope;
  const whole =
    typeof exec_id === "string" ? ` rlm_wait with from: 0 has it whole, as belay://exec/${exec_id} has.` : "";
  const cut = cutTo(shown, (bytes) => fitted(inOrder(envelope, bytes), `${rest}${whole}`, bytes));
  return { content: [{ type: "text" as const, text: jsonText(cut) }], isError: !given.success };
}

/**
 * Characters of an answer that clients were measured to show their models. `npm run verify --
 * agents` installs them.
 */
const SHOWN_BY: readonly (readonly [name: RegExp, shown: Shown])[] = [
  [/codex/i, { bytes: 10_000, isEscaped: false }],
  [/cline/i, { bytes: 7_800, isEscaped: true }],
  [/qwen/i, { bytes: 1_800, isEscaped: false }],
  [/claude-code|opencode|gemini|continue/i, { bytes: 40_000, isEscaped: false }],
];
/** Bytes for all others: of an answer of more than 20,000 the model in Copilot sees 500. */
const USUAL_BYTES = 19_000;

/**
 * The part of an answer that this client shows. @param answerBytes the user's number; null: what is
 * known of the client
 */
export function shownBy(client: string, answerBytes: number | null): Shown {
  if (answerBytes !== null) return { bytes: answerBytes, isEscaped: false };
  return SHOWN_BY.find(([name]) => name.test(client))?.[1] ?? { bytes: USUAL_BYTES, isEscaped: false };
}

const LEAST_BYTES = 500;

/**
 * The envelope that `make` gives for so many bytes, or for fewer until the client shows all of it.
 */
function cutTo(shown: Shown, make: (maxBytes: number) => ToolEnvelope): ToolEnvelope {
  let room = shown.bytes;
  for (;;) {
    const made = make(room);
    const size = shown.isEscaped ? bytesOf(jsonText(made)) : 0;
    if (size <= shown.bytes || room < LEAST_BYTES) return made;
    room = Math.floor(room * Math.min(shown.bytes / size, 0.95));
  }
}

/** Fields that a model looks for first, in whatever of an answer it is shown. */
const FIRST = ["success", "running", "answer", "result_json", "warnings", "error_code", "error_message", "suggestion"];
/**
 * Fields that it seldom needs. An answer that has to be cut is left without it in a client that
 * shows little.
 */
const LAST = ["limits_applied", "tool_override_events", "budget", "usage", "execution_time_ms", "session_id"];
const IDS = ["exec_id", "ask_id"];

function inOrder(envelope: ToolEnvelope, maxBytes: number): ToolEnvelope {
  const isCut = bytesOf(envelope) > maxBytes;
  const isSmall = isCut && maxBytes < USUAL_BYTES;
  const rankOf = (field: string) => {
    if (FIRST.includes(field)) return FIRST.indexOf(field) - FIRST.length;
    return IDS.includes(field) ? 2 : LAST.includes(field) ? 3 : isLong(envelope[field]) ? 1 : 0;
  };
  const fields = Object.entries(isCut ? { warnings: [], ...envelope } : envelope).filter(
    ([field]) => !isSmall || !LAST.includes(field),
  );
  const sorted = fields.toSorted(([one], [other]) => rankOf(one) - rankOf(other));
  return { ...Object.fromEntries(sorted), success: envelope.success };
}

const LONG_UNITS = 200;

function isLong(value: Json | undefined): boolean {
  return typeof value === "string" && value.length > LONG_UNITS;
}

/** A part of an answer, as JSON text, that the client shows whole. */
export function pageOf(envelope: ToolEnvelope, from: number, shown: Shown): ToolEnvelope {
  const whole = jsonText(envelope);
  return cutTo(shown, (maxBytes) => {
    const text = beginning(whole.slice(from), maxBytes - PAGE_BYTES);
    const to = from + text.length;
    const more = to < whole.length ? { suggestion: `rlm_wait with from: ${to} has what follows.` } : {};
    return { success: true, from, to, of: whole.length, text, ...more };
  });
}

/** For what is said around the text of a page. */
const PAGE_BYTES = 300;

/** The words of the server: what a client's model can do, or can ask its user for. */
const MCP: Wording = {
  ...MODEL_CURES,
  addRoot: "ask the user to add `--root DIR` to the arguments of this server",
  raiseMemory: "ask the user to add `--memory-mb N` to the arguments of this server",
  resume: "call rlm_wait, which finishes it",
  discard: "give it up with rlm_wait and discard: true",
  listSessions: "rlm_status lists those of this folder",
  listCheckpoints: "ask the user to list them with `belay show *`",
  keepSteps: "the user can keep those within a call with `--keep-steps`",
  fork: "ask the user to make a copy with `belay fork *`",
  removeSession: "ask the user to drop one with `belay rm *`",
  verify: "ask the user to run `belay doctor`",
  moreSubCalls: "ask the user to add `--max-sub-calls N` to the arguments of this server",
  renewSession:
    "rlm_load with reset: true, or rlm_wait with another session, begins anew; the user can raise `--max-session-budgets N` among the arguments of this server",
  raiseTokens: "ask the user to add `--max-tokens *` to the arguments of this server",
  raiseDollars: "ask the user to add `--max-cost-usd *` to the arguments of this server",
  anotherRun: "ask the user to begin another run",
  moreBudget:
    "ask the user for a larger budget: `--max-sub-calls N` and its like among the arguments of this server; each call has the whole of it",
  raiseDepth: "ask the user to add `--depth N` to the arguments of this server",
  raiseSpace: "ask the user to add `--max-session-mb N` to the arguments of this server",
  raiseContext: "ask the user to add `--max-context-mb *` to the arguments of this server",
  folderStore: "ask the user to name one with `--store FOLDER` in the arguments of this server",
  raiseFiles: "ask the user to add `--max-files *` to the arguments of this server",
  beginAnew: "go over to a new session with rlm_wait and session: NAME, or load the context again with rlm_load",
  removeHelper: "remove it in a cell with helpers.remove(*)",
  addFlags: "ask the user to add `*` to the arguments of this server",
  nameModel:
    "ask the user to put `--model PROVIDER/ID` into the arguments of this server, and the variable of its key into its `env`",
  nameModels: "ask the user to add `--models *` to the arguments of this server",
  nameServer: "ask the user to put `--base-url URL` into the arguments of this server",
  setKeyOf: "ask the user to put * into the `env` of this server's entry, or to name another with `--api-key-env NAME`",
  nameKey:
    "ask the user to put the variable of the key into the `env` of this server's entry, or name another with `--api-key-env NAME`",
  setKey: "ask the user to put the variable of a provider's key (*) into the `env` of this server's entry",
  login: "ask the user to run pi and /login",
  tellPrice: "ask the user to add `--price IN/OUT` to the arguments of this server",
  checkServer: "ask the user to check `--base-url`",
  resendDoubtful: "ask the user to close this client and run `belay resume SESSION --resend-doubtful`",
  makeAllPhases: "ask the user to run `belay workflow` without `--only`",
  trustWorkflow: "ask the user to run `belay workflow * --trust`",
  lendAgent:
    "ask the user to add `--agents *` to the arguments of this server, or to close this client and run `belay resume SESSION`",
  giveUpCalls: "ask the user to close this client and give the calls up with `belay rm SESSION --discard`",
};

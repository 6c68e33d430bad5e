import { join } from "node:path";
import { firstly, LIMITS } from "../../../runtime/index.ts";
import { type AgentCommand, agentModelName, KEEPER_MS, reservesOf } from "../../platform/agent-commands.ts";
import { messageOf } from "../../platform/errors.ts";
import { type Cure, failure } from "../failure.ts";
import type {
  FailureCode,
  Model,
  ModelAnswer,
  ModelMessage,
  ModelRequest,
  Models,
  ModelTurn,
  Reserved,
  Usage,
} from "../port.ts";
import { withoutThinking } from "../replies/thinking.ts";
import { shownTexts } from "../sent-messages.ts";
import { addUsage, believed, NO_USAGE } from "../usage.ts";
import { type AgentAnswer, reportsFailure, withoutCodes } from "./answer.ts";
import { problemOf } from "./command-line.ts";
import { limitIn } from "./limit.ts";
import { cutBefore, emptyOutbox } from "./outbox.ts";
import { type AgentOutcome, type AgentRun, runAgent } from "./run.ts";

/** A call that an agent answers. */
interface AgentCall extends Pick<AgentRun, "command" | "model" | "schema" | "cwd" | "worktree" | "mostTries"> {
  /** The agent's name in the user's configuration. */
  readonly name: string;
  /** Ids of the session and of the call: the same whenever the same call is made. */
  readonly key: readonly [session: string, call: string];
  /** Folder of the outboxes of the session. */
  readonly folder: string;
}

/** The models of one call: its agent, whatever model is asked for. */
export function agentModels(call: AgentCall): Models {
  const id = agentModelName(call.name, call.model);
  const reserves = reservesOf(call.command);
  let requests = 0;
  const agent: Model = {
    id,
    price: null,
    window: null,
    // Starts that were cut are charged with the one that answers.
    get reserves() {
      return timesOf(reserves, 1 + cutBefore(join(call.folder, nameOf(call, requests))));
    },
    async complete(request, signal) {
      try {
        const run = runOf(call, request, requests++);
        return await complete(call, run, { reserves, shown: shownTexts(request) }, signal);
      } catch (error) {
        return failed(call, NO_USAGE, "no_model_configured", `could not be started: ${messageOf(error)}`, {
          ends: "job",
        });
      }
    },
  };
  return { fallback: id, resolve: () => agent, price: () => null };
}

/** The charge of an agent that does not tell what it took, and the texts that it was shown. */
interface Given {
  readonly reserves: Reserved;
  readonly shown: readonly string[];
}

async function complete(
  call: AgentCall,
  run: AgentRun,
  { reserves, shown }: Given,
  signal: AbortSignal,
): Promise<ModelAnswer> {
  const problem = problemOf(call.command, run);
  if (problem !== null) {
    return { ok: false, usage: NO_USAGE, charged: true, error: failure("invalid_argument", problem) };
  }
  const outcome = await runAgent(run, signal);
  if (!outcome) return failed(call, chargeOf(reserves, 1), "cancelled", "was ended");
  const answer = await answerOf(call, outcome, { usage: usageOf(outcome, reserves), shown });
  // A failure that the user must act on is no answer: a later process asks again. A doubt stays.
  if (!answer.ok && answer.ends === "job" && outcome.ended !== "in_doubt") emptyOutbox(run.folder);
  return answer;
}

/**
 * The name of the outbox of a request: the id of its call, and its number if it is not the first.
 */
function nameOf({ key: [, own] }: Pick<AgentCall, "key">, number: number): string {
  return number === 0 ? own : `${own}.${number}`;
}

/**
 * The run of a request. An agent that gave no fitting answer is asked anew, with a key of its own.
 */
function runOf({ key: [session, own], folder, ...call }: AgentCall, request: ModelRequest, number: number): AgentRun {
  const { messages, thinking = "off", timeoutMs } = request;
  const id = nameOf({ key: [session, own] }, number);
  return {
    command: call.command,
    model: call.model,
    schema: call.schema,
    cwd: call.cwd,
    worktree: call.worktree,
    mostTries: call.mostTries,
    key: `${session}/${id}`,
    folder: join(folder, id),
    // The keeper ends the agent, and has the end kept, within the time of the call.
    timeoutMs: Math.max(1, timeoutMs - KEEPER_MS),
    effort: thinking === "off" ? null : thinking,
    prompt: promptOf(messages),
  };
}

/**
 * An agent remembers nothing of an earlier request. Programs take a prompt that begins with a slash
 * for a command of their own.
 */
function promptOf(messages: readonly ModelMessage[]): string {
  const texts = messages.map((message) => {
    if (message.role === "assistant") return `Your answer was:\n${message.answer.text}`;
    return message.text;
  });
  return texts.join("\n\n").replace(/^\//, "\n/");
}

function timesOf({ tokens, cost_usd }: Reserved, starts: number): Reserved {
  return { tokens: starts * tokens, cost_usd: starts * cost_usd };
}

/** The charge of so many starts by what an agent holds. */
function chargeOf(reserved: Reserved, starts: number): Usage {
  const { tokens, cost_usd } = timesOf(reserved, starts);
  const estimated = tokens > 0 ? { estimated: tokens } : {};
  return { ...NO_USAGE, output: tokens, cost_usd, ...estimated, ...untoldDollars(cost_usd) };
}

/**
 * The charge of an agent: what it held stands in for what it does not say, and for each start that
 * was cut.
 */
function usageOf({ ended, answer, cut }: AgentOutcome, reserves: Reserved): Usage {
  const before = chargeOf(reserves, cut);
  if (ended === "not_started") return before;
  const { tokens, cost_usd } = toldBy(answer);
  const { estimated_usd, ...own }: Usage = tokens === null ? chargeOf(reserves, 1) : { ...NO_USAGE, ...tokens };
  if (cost_usd !== null) return addUsage(before, { ...own, cost_usd });
  return addUsage(before, { ...own, cost_usd: reserves.cost_usd, ...untoldDollars(reserves.cost_usd) });
}

/**
 * The tokens and dollars that an agent tells; null for each that it does not, or that none can
 * have taken.
 */
function toldBy(answer: AgentAnswer | null) {
  const { tokens = null, cost_usd = null } = answer ?? {};
  const counted = tokens && believed({ ...NO_USAGE, ...tokens });
  const priced = cost_usd === null ? null : believed({ ...NO_USAGE, cost_usd });
  return { tokens: counted, cost_usd: priced && cost_usd };
}

const untoldDollars = (cost_usd: number) => (cost_usd > 0 ? { estimated_usd: cost_usd } : {});

type FailedAnswer = Extract<ModelAnswer, { ok: false }>;

function failed(
  { name }: AgentCall,
  usage: Usage,
  code: FailureCode,
  why: string,
  { ends, ...cure }: Cure & Pick<FailedAnswer, "ends"> = {},
): FailedAnswer {
  const error = failure(code, `the agent ${name} ${why}`, { retriable: false, ...cure });
  return { ok: false, usage, charged: true, error, ...(ends ? { ends } : {}) };
}

async function answerOf(
  call: AgentCall,
  outcome: AgentOutcome,
  { usage, shown }: { readonly usage: Usage; readonly shown: readonly string[] },
): Promise<ModelAnswer> {
  const { command } = call;
  const { ended, answer, code, signal, said, why = "" } = outcome;
  const no = (...why: [FailureCode, string, (Cure & Pick<FailedAnswer, "ends">)?]) => failed(call, usage, ...why);
  switch (ended) {
    case "in_doubt":
    case "unknown": {
      const suggestion = `${firstly("resendDoubtful")}, which may pay for it twice.`;
      const lost = `was started, and it is unknown whether it has ended${why === "" ? "" : `: ${why}`}`;
      return no("answer_lost", lost, { suggestion, ends: "job" });
    }
    case "not_started":
      return no("no_model_configured", `could not be started: ${why}`, { suggestion: cureOf(why), ends: "job" });
    case "timeout":
      return no("timeout", "took longer than its time", {
        suggestion: "Raise timeout_s of its entry, or ask for less.",
      });
    case "too_large":
      return no("truncated_answer", `printed more than it may (${bytesOf(command)} bytes)`, {
        suggestion: "Raise max_bytes of its entry.",
      });
    case "stopped":
      return no("cancelled", "was ended");
    case "exited":
  }
  const limit = command.limit === undefined ? null : await limitIn(command.limit, said, new Date());
  const report = code === 0 && answer && !answer.isValue ? reportsFailure(answer.text, shown) : null;
  const isFailed = answer?.failed || report?.surely || (report !== null && limit !== null);
  if (code === 0 && answer !== null && !isFailed && answer.text.trim() !== "") {
    const flaw = flawOf(answer);
    if (flaw) return no(...flaw);
    const { turn, isThought } = turnOf(answer, outcome, { isRaw: command.output === undefined, shown, report });
    if (turn.text.trim() !== "") return { ok: true, usage, charged: true, turn };
    return no("empty_answer", isThought ? "only thought" : "gave no text");
  }
  if (limit) {
    return no("rate_limited", `has reached a limit${limit.when}: ${lastWords(said)}`, {
      suggestion: "Resume when its account allows it again: no answer that is recorded is asked for twice.",
      ends: "job",
      ...(limit.retry_at === null ? {} : { retry_at: limit.retry_at }),
    });
  }
  if (code === 0 && !isFailed && (answer || outcome.said === "")) return no("empty_answer", "printed nothing");
  const how = code === 0 && !isFailed ? "printed no answer as its output describes it" : "failed";
  const words = lastWords(said);
  return no("sub_agent_error", `${how} (${signal ?? `code ${code}`})${words === "" ? "" : `: ${words}`}`);
}

const bytesOf = ({ max_bytes = LIMITS.agentBytes }: AgentCommand) => max_bytes.toLocaleString("en");

function cureOf(why: string): string {
  if (/worktree/.test(why)) return "Run it in a git repository that has a commit, or leave out isolation.";
  return "Correct its entry in `agents` of your configuration.";
}

const LAST_WORDS = 400;

const lastWords = (said: string) => said.slice(-LAST_WORDS).replaceAll(/\s+/g, " ").trim().toWellFormed();

/**
 * The failure of an answer whose program says that it is cut or withheld; null: it says nothing of
 * the kind.
 */
function flawOf({ stopped, isBrokenOff }: AgentAnswer): [FailureCode, string] | null {
  if (isBrokenOff) return ["truncated_answer", "printed a last line that ends within a value"];
  if (stopped?.meaning === "cut") return ["truncated_answer", `says that its answer was cut (${stopped.reason})`];
  if (stopped?.meaning !== "withheld") return null;
  return ["content_filtered", `says that its answer was withheld (${stopped.reason})`];
}

interface ReadBy {
  /** The text is all that the program has printed, and no field of its output. */
  readonly isRaw: boolean;
  readonly shown: readonly string[];
  /** Its text may report a failure. */
  readonly report: object | null;
}

/**
 * The turn of an agent, without thinking that its program left in the text, and whether there was some. A paid text is not
 * lost for being long: it is cut, and says so. A value is refused by its size.
 */
function turnOf(
  { text: answer, isValue, isUnended }: AgentAnswer,
  { isGarbled }: AgentOutcome,
  { isRaw, shown, report }: ReadBy,
): { readonly turn: ModelTurn; readonly isThought: boolean } {
  const most = LIMITS.answerUnits - 200;
  const whole = answer.toWellFormed();
  const plain = isRaw ? withoutCodes(whole) : whole;
  const spoken = isValue ? { text: plain, isThought: false } : withoutThinking(plain, shown);
  const isLong = spoken.text.length > most && !isValue;
  const text = isLong
    ? `${spoken.text.slice(0, most).toWellFormed()}\n[cut: the agent answered with ${spoken.text.length} characters]`
    : spoken.text;
  const mended = [
    ...(spoken.mended ?? []),
    ...(isLong ? ["an answer that was too long"] : []),
    ...(isGarbled ? ["bytes that are not UTF-8"] : []),
    ...(whole === answer ? [] : ["half characters"]),
    ...(plain === whole ? [] : ["codes of a terminal"]),
    ...(isUnended ? ["no end of its lines"] : []),
    ...(report === null ? [] : ["what may be a failure"]),
  ];
  const turn = { text, toolUses: [], stop: "end", raw: null, ...(mended.length > 0 ? { mended } : {}) } as const;
  return { turn, isThought: spoken.isThought };
}

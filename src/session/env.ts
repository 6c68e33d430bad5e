import {
  type Clock,
  DEFAULT_ASK_MS,
  DEFAULT_BUDGET,
  DEFAULT_EXEC_LIMITS,
  type ExecLimits,
  type Json,
  LIMITS,
  type Machines,
  processMachines,
} from "../../runtime/index.ts";
import type { Context } from "../context/index.ts";
import { isLocalServer, type Models, openModels, ownModels, priceOf } from "../models/index.ts";
import { messageOf } from "../platform/errors.ts";
import { withoutUndefined } from "../platform/json.ts";
import type { Signer } from "../settings/signed-settings.ts";
import type { JobKey, Lease, SessionRow, Store } from "../store/index.ts";
import type { ExcerptInput } from "./contexts/excerpts.ts";
import type { SessionEvent } from "./events.ts";
import type { Totals } from "./journal/account.ts";
import { type BudgetRules, UNLIMITED } from "./journal/ledger.ts";
import type { BudgetLimits } from "./journal/records.ts";
import type { HostedOptions, OnRestart } from "./option-types.ts";
import { refused } from "./options.ts";
import type { Answers, ParentCall } from "./sub-calls/port.ts";
import type { RunPart } from "./sub-calls/run-part.ts";
import type { Suspension } from "./suspension.ts";
import type { WorkflowMarks } from "./workflow-marks.ts";

/** The surroundings of a session: everything outside it that it works with, and where its events go. */
export interface Env {
  readonly store: Store;
  readonly clock: Clock;
  readonly newId: () => string;
  /** From 0 to 1. */
  readonly random: () => number;
  /** The source of its machines' threads. */
  readonly machines: Machines;
  readonly models: Models;
  readonly emit: (event: SessionEvent) => void;
}

/** Finds the answer on record to a question by its SHA-256, each answer once; `undefined`: the model would be asked. */
export type RecordedAnswers = (asked: string) => Promise<Json | undefined>;

/** The rules of a session, by its options and by the call that it answers. */
export interface Rules extends BudgetRules {
  /** Limits of an exec that asks for none. */
  readonly limits: ExecLimits;
  /** The user has not limited tokens. */
  readonly tokensAreUsual: boolean;
  /** Sub-calls that are answered at once. */
  readonly concurrency: number;
  /** 0 for a session that a caller opened, one more than its parent's for a child. */
  readonly depth: number;
  /** The depth that children may have. */
  readonly maxDepth: number;
  readonly onRestart: OnRestart;
  /** Time for which a graceful stop waits for functions that must not run twice, ms. */
  readonly onceWaitMs: number;
  /** True if checkpoints within an exec stay when it has ended. */
  readonly keepSteps: boolean;
}

/** Parts that a host or a test lends. Of its surroundings, those that are absent are made from the options. */
export interface Host extends Partial<Omit<Env, "emit">> {
  /** Entry of the machine's thread. */
  readonly machineEntry?: URL;
  readonly origin?: SessionRow["origin"];
  /** Settings that are kept with the session of this id, for a process that continues it. */
  readonly settings?: (session: string) => Json;
  /** Answers calls instead of the models that the options name. */
  readonly answers?: Answers;
  /** Signs the models of asks and knows them again. Without it only models that the options name continue. */
  readonly signer?: Pick<Signer, "sign" | "doubt">;
  /** Says which of its cells may ask agents. Absent: those that the signer knows again. */
  readonly workflows?: WorkflowMarks;
  /** For a session that answers a call of another one. */
  readonly above?: ParentCall;
  /** The source of a child's context, which is loaded when the session is opened, unless it is loaded. */
  readonly excerpt?: ExcerptInput;
  /** The input of the job that the session is of, as JSON: cells read it as `job`. */
  readonly job?: string;
  /** The run that the session of a job takes money from. */
  readonly run?: RunPart;
  /** The session's `budget` is that of each question of a person. Absent: it is the session's own. */
  readonly questions?: Questions;
  /** True if the host has set `budget.max_tokens` by itself: its user has not limited tokens. */
  readonly tokensAreUsual?: boolean;
  /** Suspends what has to wait for long. Absent: the session's own. */
  readonly suspension?: Suspension;
  /** The session that is woken when answers are there. Absent: this one. */
  readonly root?: Root;
  /** The job whose answers its calls take over and leave for later ones. Absent: only the option `cache` counts. */
  readonly answersOf?: JobKey;
  /** Models, `provider/id`, of which records outside of the session have answers: their servers are waited for if they are away. */
  readonly answered?: readonly string[];
  /**
   * True if nothing continues from the state of a cell that has succeeded: its end is then kept without an image. Default:
   * false.
   */
  readonly leavesNoState?: boolean;
  /** Finds answers on record for the calls of a dry run. Absent: each gets a placeholder. */
  readonly recorded?: RecordedAnswers;
  /** The session, if the caller has its lease already: then the caller gives it back. */
  readonly leased?: Lease;
  /** Hears what the session has spent: when it is open, and after each commit. */
  readonly onTotals?: (totals: Totals) => void;
  /** Returns a context that the process holds in memory, so that it is not read from the store; null: it holds none such. */
  readonly heldContext?: (key: string) => Context | null;
}

/** The questions of a host: each has the budget that its options name. */
export interface Questions {
  /**
   * Returns the id of the question that an exec belongs to, when it begins.
   * @param newest that of the exec before it; null: that one had none
   */
  id(newest: string | null): string;
  /** The session in all may spend this many times the budget of a question. null: it has no limit. */
  readonly most: number | null;
  /** Limits of a question that is a workflow, unless the options name others. Absent: they are those of every question. */
  readonly workflow?: Partial<BudgetLimits>;
}

/** The session that a caller opened, above this one or this one itself. */
export interface Root {
  /** Its id. */
  readonly session: string;
  /** The id of its run; null: it is not the session of a job. */
  readonly run: string | null;
  /** Its host can end and come back for answers. */
  readonly comesBack: boolean;
}

/** The models that a host lends, or those of the options. @throws RlmError `invalid_argument` for an invalid base URL */
export function modelsOf(options: HostedOptions, host: Host): Models {
  if (host.models) return host.models;
  const { complete, model, baseUrl, price, leaveOut } = options;
  if (!complete) return openModels({ ...options, env: process.env });
  if (baseUrl === undefined && leaveOut === undefined) return ownModels(complete, model, priceOf(price));
  const [option, cure] = baseUrl === undefined ? ["leaveOut", "ignore it"] : ["baseUrl", "call that server"];
  throw refused(
    `openSession(): ${option} has no effect beside complete, which answers all requests`,
    `Leave ${option} out, or ${cure} in complete().`,
  );
}

/** The surroundings that a host lends, and those that follow from the options. */
export function envOf(options: HostedOptions, host: Host & Pick<Env, "store" | "newId" | "clock" | "models">): Env {
  const { store, clock, newId, models, random = Math.random, machines = processMachines() } = host;
  const emit = (event: SessionEvent) => {
    try {
      if (event.kind === "checkpoint") options.onCheckpoint?.(event.checkpoint);
      options.onProgress?.(event);
    } catch (error) {
      // Paid work does not fail by the program's own report of it.
      process.emitWarning(`openSession(): onProgress or onCheckpoint failed: ${messageOf(error)}`, "BelayWarning");
    }
  };
  return { store, clock, newId, random, machines, models, emit };
}

export function rulesOf(
  options: HostedOptions,
  above: ParentCall | undefined,
  { questions, tokensAreUsual = options.budget?.max_tokens === undefined }: Pick<Host, "questions" | "tokensAreUsual">,
): Rules {
  const { concurrency = LIMITS.concurrency, maxDepth = LIMITS.depth, onRestart = "send", keepSteps = false } = options;
  const { onceWaitMs = LIMITS.onceWaitMs } = options;
  const limits: ExecLimits = { ...DEFAULT_EXEC_LIMITS, ...withoutUndefined(options.limits ?? {}) };
  const lent = options.functions ? { max_functions: LIMITS.functionCalls } : {};
  const { baseUrl, model = "" } = options;
  const isLocal = isLocalServer(model.slice(0, Math.max(0, model.indexOf("/"))), baseUrl);
  const usual = isLocal ? { ...DEFAULT_BUDGET, max_time_ms: DEFAULT_ASK_MS } : DEFAULT_BUDGET;
  const own: BudgetLimits = { ...usual, ...lent, ...withoutUndefined(options.budget ?? {}) };
  return {
    limits,
    ...(above ? { budget: above.limits, question: null } : budgetsOf(own, options, questions)),
    tokensAreUsual,
    concurrency: Math.min(concurrency, LIMITS.maxConcurrency),
    depth: above?.depth ?? 0,
    maxDepth: above?.maxDepth ?? maxDepth,
    onRestart,
    onceWaitMs,
    keepSteps,
  };
}

/** The session's own budget, and that of each question. @param own by the options */
function budgetsOf(own: BudgetLimits, { budget = {} }: HostedOptions, questions: Questions | undefined): BudgetRules {
  if (!questions) return { budget: own, question: null };
  const workflow = questions.workflow && { ...own, ...questions.workflow, ...withoutUndefined(budget) };
  const ofWorkflow = workflow ? { workflow } : {};
  const { max_functions } = own;
  const lent = max_functions === undefined ? {} : { max_functions };
  const { most } = questions;
  if (most === null) return { budget: { ...UNLIMITED, ...lent }, question: own, ...ofWorkflow };
  const whole: BudgetLimits = {
    ...lent,
    max_tokens: own.max_tokens * most,
    max_sub_calls: own.max_sub_calls * most,
    // Questions may be asks, which have more time than cells.
    max_time_ms: (budget.max_time_ms ?? DEFAULT_ASK_MS) * most,
    max_cost_usd: own.max_cost_usd === null ? null : own.max_cost_usd * most,
  };
  return { budget: whole, question: own, ...ofWorkflow };
}

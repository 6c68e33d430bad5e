import type { FunctionFacts } from "../../builtins/index.ts";
import type { CellJson } from "../platform/cell-json.ts";
import type { Lease } from "../store/index.ts";
import type { CellSettings } from "./ask/api.ts";
import type { Loading } from "./contexts/contexts.ts";
import type { AskModels, Granted } from "./contexts/granted.ts";
import type { Env, Questions, RecordedAnswers, Root, Rules } from "./env.ts";
import type { SessionState } from "./journal/account.ts";
import { type Account, cellFiles } from "./journal/account.ts";
import type { EnvelopeFacts } from "./journal/envelope.ts";
import type { RemainingBudget } from "./journal/ledger.ts";
import { leftOfBoth, toldBudget } from "./journal/ledger.ts";
import type { CallKey } from "./journal/records.ts";
import type { Guest, GuestOptions, IndexFolder } from "./machine/guest.ts";
import type { HostedOptions } from "./option-types.ts";
import type { StoreQuota } from "./store-quota.ts";
import type { Places } from "./sub-calls/concurrency.ts";
import type { TreePatience } from "./sub-calls/patience.ts";
import type { Agents, Answers, Children, ParentCall } from "./sub-calls/port.ts";
import type { RunPart } from "./sub-calls/run-part.ts";
import type { Suspension } from "./suspension.ts";
import type { WorkflowMarks } from "./workflow-marks.ts";

/** The parts of a session that its calls are answered with. */
export interface CallingSession {
  readonly row: Lease;
  readonly options: HostedOptions;
  readonly env: Env;
  readonly rules: Rules;
  readonly above: ParentCall | undefined;
  readonly run: RunPart | undefined;
  /** Suspends what has to wait for long, for the whole tree of sessions. */
  readonly suspension: Suspension;
  /** Nobody above it waits for batches. */
  readonly hasOwnSuspension: boolean;
  readonly root: Root;
  /** Ids of the calls with requests by batch: these go with the record of the call. */
  readonly deliveries: Set<string>;
  readonly granted: Granted;
  /** The folder of relative paths. */
  readonly cwd: string;
  /** The state from which the next exec starts. */
  state(): SessionState;
  /** The places of the whole tree of sessions. */
  readonly places: Places;
  /** The patience of the whole tree of sessions with servers that are away. */
  readonly patience: TreePatience;
  /** The space of the whole tree of sessions. */
  readonly space: StoreQuota;
  readonly children: Children;
  readonly agents: Agents;
  readonly workflows: WorkflowMarks;
  /** The way in which a load of this session reads. */
  readonly loading: Omit<Loading, "signal">;
}

/** An open session, as its methods share it. */
export interface SessionParts extends CallingSession {
  /** Those of the host, if each has a budget of its own. A child's execs belong to the question of its caller. */
  readonly questions: Questions | undefined;
  /** The call of a tool that begins the next exec, if its host gave it a key. */
  readonly called: { key: CallKey | null };
  /** The functions that the program lends, as cells and models see them. */
  readonly functions: readonly FunctionFacts[];
  /** Input of the session's job; null if it does not belong to a job. */
  readonly job: CellJson | null;
  /** Called with the new state after each commit. */
  moved(next: SessionState): void;
  /** True if no checkpoint is kept. */
  readonly isDry?: true;
  /** See {@link Host.leavesNoState}. */
  readonly leavesNoState: boolean;
  /** True if images within an exec are captured only once the guest waits long: the store is in memory. */
  readonly imagesAreLate: boolean;
  readonly answers: Answers;
  /** See {@link Host.recorded}. */
  readonly recorded: RecordedAnswers | undefined;
  /** Answers sub-calls as the session does, but by what an ask says of them. */
  answersBy(settings: CellSettings): Answers;
  readonly askModels: AskModels;
  readonly indexFolder: IndexFolder;
  /** The options with which the session's guest was opened: a dry run opens another one. */
  readonly guestOptions: GuestOptions;
  readonly guest: Guest;
  /** Checkpoints of earlier ends that go when this one is kept. */
  gcEnds(end: { readonly id: string; readonly isWhole: boolean }): readonly string[];
}

/** The budget that the newest question of a session may still spend between execs: at its own level and above. */
export function leftOf({ rules, above, state }: Pick<SessionParts, "rules" | "above" | "state">): RemainingBudget {
  const { account } = state();
  const own = leftOfBoth(rules, account);
  return toldBudget(above?.budget.atMost(own) ?? own, rules, account);
}

/**
 * The facts of a session for an envelope. @param isUnfinished the exec was suspended, or its end could not be kept: the record
 * is in no journal
 */
export function envelopeFacts(
  session: Pick<SessionParts, "row" | "rules" | "above" | "state">,
  account: Account,
  isUnfinished: boolean,
): EnvelopeFacts {
  const { id } = session.row;
  return { session_id: id, budget: leftOf(session), unfinished: isUnfinished, files: cellFiles(account) };
}

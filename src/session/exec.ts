import { type ExecEnd, type ExecLimits, type ExecState, type Json, RlmError } from "../../runtime/index.ts";
import type { Context } from "../context/context.ts";
import type { ToolOverrideEvent } from "../model/policy.ts";
import { type CellParts, type CellRun, runCell } from "./cell.ts";
import { codeOf } from "./envelope.ts";
import type { Guest } from "./guest.ts";
import type { ExecKind, JournalRecord } from "./journal.ts";
import { type Ledger, spend } from "./ledger.ts";
import type { Store } from "./store.ts";

/** Where a session stands: what an exec starts from and what it leaves. */
export interface Head {
  readonly context: Context | null;
  /** Cells run since the last load: the next is `<cell N + 1>`. */
  readonly cells: number;
  readonly ledger: Ledger;
  /** Whether any exec has run in the guest since it was made. */
  readonly used: boolean;
  /** Why variables, memory and helpers are gone, until the next cell has said so. */
  readonly lost: string | null;
}

/** What is asked of an exec. */
export type ExecRequest =
  | { readonly kind: "cell"; readonly source: string; readonly limits: Partial<ExecLimits>; readonly sites?: boolean }
  /** A cell of ours, on a copy of the guest: only the ledger moves. `prompt` is what the journal keeps. */
  | { readonly kind: "query"; readonly prompt: string; readonly source: string }
  | { readonly kind: "load" | "append"; readonly source: string; read(current: Context | null): Promise<Context> }
  | { readonly kind: "memory" | "helpers"; readonly input: Json };

/** What an exec gives beside the new head. */
export type ExecOutcome =
  | {
      readonly kind: "cell" | "query";
      readonly end: ExecEnd;
      readonly warnings: readonly string[];
      readonly events: readonly ToolOverrideEvent[];
      readonly timeMs: number;
    }
  | { readonly kind: "load" | "append"; readonly context: Context }
  | { readonly kind: "memory" | "helpers"; readonly value: Json };

/** All that an exec needs and that does not change from exec to exec. */
export interface ExecParts extends CellParts {
  readonly session: string;
  readonly store: Store;
  readonly guest: Guest;
  readonly newId: () => string;
}

/**
 * One exec: `(head, request) → head'`. Its start is in the journal before it does anything, its end before it answers.
 * Rejects where the caller asked for something that cannot be done; the head then stays as it was.
 */
export async function exec(
  parts: ExecParts,
  head: Head,
  request: ExecRequest,
  signal?: AbortSignal,
): Promise<{ head: Head; outcome: ExecOutcome }> {
  const { store, session, clock } = parts;
  const exec_id = parts.newId();
  const startedAt = clock.monotonic();
  let ledger = head.ledger;
  const events: ToolOverrideEvent[] = [];
  const commit = async (records: readonly JournalRecord[]) => {
    await store.commit(session, records);
    ledger = records.reduce(spend, ledger);
  };
  const complete = (kind: ExecKind, success: boolean, error_code: string | null, after: Partial<CompleteFacts>) =>
    commit([
      {
        record: "rlm_complete",
        exec_id,
        kind,
        success,
        error_code,
        time_ms: clock.monotonic() - startedAt,
        context_hash: (after.context ?? head.context)?.hash ?? null,
        state: after.state ?? null,
        at: clock.now(),
      },
    ]);

  const run = (cell: number): CellRun => ({ exec_id, cell, startedAt, events, ledger: () => ledger, commit });

  await commit([{ record: "rlm_start", exec_id, kind: request.kind, input: inputOf(request), at: clock.now() }]);
  try {
    switch (request.kind) {
      case "cell": {
        const guest = await parts.guest.use(head.context);
        const end = await runCell(parts, run(head.cells + 1), guest, request, signal);
        const code = codeOf(end.end);
        await complete("cell", code === null, code, { state: end.state });
        const timeMs = clock.monotonic() - startedAt;
        if (end.lost) await parts.guest.renew();
        const warnings = head.lost ? [stateLost(head.lost)] : [];
        return {
          head: { ...head, cells: head.cells + 1, ledger, used: !end.lost, lost: end.lost },
          outcome: { kind: "cell", end, warnings, events, timeMs },
        };
      }
      case "query": {
        const copy = await parts.guest.copy(head.context);
        const end = await copy
          .use(head.context)
          .then((guest) => runCell(parts, run(0), guest, { ...request, limits: {} }, signal))
          .finally(() => copy[Symbol.asyncDispose]());
        const code = codeOf(end.end);
        await complete("query", code === null, code, { state: end.state });
        const timeMs = clock.monotonic() - startedAt;
        return { head: { ...head, ledger }, outcome: { kind: "query", end, warnings: [], events, timeMs } };
      }
      case "load": {
        const context = await request.read(null);
        if (head.used) await parts.guest.renew();
        await complete("load", true, null, { context });
        return {
          head: { context, cells: 0, ledger, used: false, lost: null },
          outcome: { kind: "load", context },
        };
      }
      case "append": {
        const context = await request.read(head.context);
        await complete("append", true, null, { context });
        return { head: { ...head, context, ledger }, outcome: { kind: "append", context } };
      }
      default: {
        const guest = await parts.guest.use(head.context);
        const value = await guest.enter(request.kind, request.input);
        await complete(request.kind, true, null, {});
        return { head: { ...head, ledger, used: true }, outcome: { kind: request.kind, value } };
      }
    }
  } catch (error) {
    if (request.kind !== "cell") {
      await complete(request.kind, false, error instanceof RlmError ? error.code : "machine_lost", {});
    }
    throw error;
  }
}

interface CompleteFacts {
  readonly context: Context;
  readonly state: ExecState;
}

function inputOf(request: ExecRequest): Json {
  if (request.kind === "query") return request.prompt;
  return "input" in request ? request.input : request.source;
}

const stateLost = (why: string) =>
  `state_lost: variables, memory and helpers are gone (${why}); the context is still loaded`;

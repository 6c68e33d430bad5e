import { setTimeout } from "node:timers/promises";
import { onTestFinished } from "vitest";
import type { PendingCall, Settlement } from "../../runtime/index.ts";
import { NO_USAGE } from "../../src/models/index.ts";
import type { Session, SessionOptions } from "../../src/session/index.ts";
import { type JournalRecord, readRecord } from "../../src/session/journal/records.ts";
import { openSessionWith } from "../../src/session/session.ts";
import { openStore, type Store } from "../../src/store/index.ts";
import { threadEntry } from "./command.ts";
import { AT_ONCE } from "./length-answers.ts";

/** What happened, in order: records as they were committed, and calls as they were sent and answered. */
export type Happening =
  | { readonly event: "committed"; readonly record: JournalRecord }
  | { readonly event: "checkpoint"; readonly kind: "step" | "end" }
  | { readonly event: "sent" | "answered" | "aborted"; readonly id: string };

export interface AsyncSession {
  readonly session: Session;
  readonly happenings: Happening[];
  /** `rlm_start`, `sent id.1`, …: the happenings since the last call of this, one text each. */
  story(): string[];
}

export interface AsyncParts {
  /** Called before records are kept; may reject in the store's place, or take its time. */
  beforeCommit?(records: readonly JournalRecord[]): Promise<void>;
  options?: SessionOptions;
  answer?: (call: PendingCall, signal: AbortSignal) => Promise<Settlement>;
}

/** A session whose cells can call `later(value, ms)` and `fails(code)`; closed when the test ends. Ids are id-1, id-2 … */
export async function openAsyncSession({ beforeCommit, options = {}, answer }: AsyncParts = {}): Promise<AsyncSession> {
  const happenings: Happening[] = [];
  const kept = await openStore(null);
  const store: Store = {
    ...kept,
    async commit(id, step) {
      const records = (step.records ?? []).map(readRecord);
      await beforeCommit?.(records);
      const more = await kept.commit(id, step);
      for (const record of records) happenings.push({ event: "committed", record });
      if (step.checkpoint) happenings.push({ event: "checkpoint", kind: step.checkpoint.kind });
      return more;
    },
  };
  let ids = 0;
  const session = await openSessionWith(options, {
    machineEntry: threadEntry("async"),
    store,
    newId: () => `id-${++ids}`,
    answers: {
      facts: {},
      async answer(call, { signal }) {
        happenings.push({ event: "sent", id: call.id });
        const settlement = await (answer ?? answerCall)(call, signal);
        happenings.push({ event: signal.aborted ? "aborted" : "answered", id: call.id });
        return { settlement, record: FREE, cacheKey: null };
      },
      repeatable: () => true,
    },
  });
  onTestFinished(async () => {
    await session.close();
    await kept[Symbol.asyncDispose]();
  });
  return { session, happenings, story: () => happenings.splice(0).map(storyOf) };
}

const FREE = { usage: NO_USAGE, model: "", ...AT_ONCE };

/** Answers `later` after its ms and `fails` at once; an abort ends the wait. */
async function answerCall(call: PendingCall, signal: AbortSignal): Promise<Settlement> {
  const [value = null, ms] = call.args;
  if (call.name === "fails") {
    const error = { name: "Error", code: String(value), message: `it fails: ${value}`, suggestion: "Expect it." };
    return { ok: false, error };
  }
  if (typeof ms === "number") await setTimeout(ms, undefined, { signal }).catch(() => {});
  return { ok: true, value };
}

function storyOf(happening: Happening): string {
  if (happening.event === "checkpoint") return `checkpoint ${happening.kind}`;
  if (happening.event !== "committed") return `${happening.event} ${happening.id}`;
  const { record } = happening;
  switch (record.record) {
    case "rlm_resume":
    case "rlm_suspend":
      return record.record;
    case "rlm_start":
    case "rlm_complete":
      return `${record.record} ${record.kind}`;
    case "rlm_tool_call":
    case "rlm_run":
    case "rlm_tool_result":
      return `${record.record} ${record.call_id}`;
  }
}

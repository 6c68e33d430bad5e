import { type Checkpoint, type Clock, type Json, PAGE_BYTES } from "../../../runtime/index.ts";
import type { Context } from "../../context/index.ts";
import type { NewCheckpoint, Step, Store } from "../../store/index.ts";
import type { CheckpointNotice } from "../api.ts";
import { type Account, factsOf, follow } from "../journal/account.ts";
import {
  type EndExtras,
  hashOf,
  type JournalRecord,
  readEndExtras,
  type SessionFacts,
  type StepExtras,
} from "../journal/records.ts";
import type { Machine } from "../machine/guest.ts";
import { type Captured, unchanged } from "../machine/image-chain.ts";

/** What an exec starts from, and what it leaves: the account of the journal, and the context in memory. */
export interface SessionState {
  readonly account: Account;
  readonly context: Context | null;
}

export interface RecorderParts {
  readonly session: string;
  readonly store: Store;
  readonly clock: Clock;
  readonly newId: () => string;
  /** Checkpoints of earlier ends that are not kept when this one is. */
  gcEnds(end: { readonly id: string; readonly isWhole: boolean }): readonly string[];
  readonly onCheckpoint?: (checkpoint: CheckpointNotice) => void;
  /** Called with the session's new state once the commit is on disk. */
  moved(next: SessionState): void;
}

/** Writes the records and checkpoints of one exec. Each method is one transaction: kept whole when it resolves. */
export interface Recorder {
  /** Where the session stands by what was kept. */
  state(): SessionState;
  commit(records: readonly JournalRecord[], more?: Pick<Step, "cache" | "drop">): Promise<void>;
  /** The exec waits for calls: the machine's state, which it may have taken already, with the records that name it. */
  step(
    machine: Machine,
    taken: Checkpoint | null,
    make: (captured: Captured) => { readonly records: readonly JournalRecord[]; readonly extras: StepExtras },
  ): Promise<void>;
  /** The exec is over: the machine's state, with this context, and the record that says so. */
  end(
    machine: Machine,
    context: Context | null,
    make: (end: EndFacts) => EndRecord,
    drop: readonly string[],
  ): Promise<void>;
  /** The exec is over and has left the guest as it was; only the ledger has moved. */
  endUnchanged(make: (end: Partial<EndFacts>) => EndRecord, drop: readonly string[]): Promise<void>;
}

export interface EndFacts {
  readonly checkpoint_id: string;
  readonly helpers_hash: string;
}

type EndRecord = Extract<JournalRecord, { record: "rlm_complete" }>;

export function openRecorder(parts: RecorderParts, exec_id: string, start: SessionState): Recorder {
  const { store, session, clock } = parts;
  let current = start;

  async function write(records: readonly JournalRecord[], more: Partial<Step>, context: Context | null): Promise<void> {
    const facts = factsOf(records.reduce(follow, current.account), contextFacts(context));
    await store.commit(session, { records, facts, ...more });
    // Others may have been kept meanwhile.
    current = { account: records.reduce(follow, current.account), context };
    parts.moved(current);
  }

  /** Takes a checkpoint and keeps it with what is made of it. */
  async function keep(
    machine: Machine,
    kind: NewCheckpoint["kind"],
    already: Checkpoint | null,
    make: (captured: Captured) => {
      records: readonly JournalRecord[];
      extras: StepExtras | GivenExtras;
      drop: readonly string[];
    },
    context: () => Context | null,
  ): Promise<void> {
    const from = clock.monotonic();
    const commands = kind === "end" ? EXPORTS : [];
    const after = current.account.checkpoint;
    const capturing = { kind, exec_id, after, commands, at: clock.now() };
    const captured = await machine.images.capture(machine.sandbox, capturing, already);
    const { records, extras, drop } = make(captured);
    await write(records, { checkpoint: { ...captured.checkpoint, extras }, drop }, context());
    captured.kept();
    const { pages, checkpoint } = captured;
    const ms = clock.monotonic() - from + (already?.ms ?? 0);
    parts.onCheckpoint?.({ id: checkpoint.id, exec_id, kind, pages, bytes: pages * PAGE_BYTES, ms });
  }

  return {
    state: () => current,
    commit: (records, more = {}) => write(records, more, current.context),
    step: (machine, already, make) =>
      keep(
        machine,
        "step",
        already,
        (captured) => ({ ...make(captured), drop: [] }),
        () => current.context,
      ),
    async endUnchanged(make, drop) {
      const { checkpoint, helpers_hash } = current.account;
      const row = checkpoint === null ? null : await store.checkpoint(checkpoint);
      // A session that nothing was run in has no state to stand at.
      if (!row) return write([make({})], { drop }, current.context);
      const id = parts.newId();
      const record = make({ checkpoint_id: id, ...(helpers_hash === null ? {} : { helpers_hash }) });
      const { ledger } = follow(current.account, record);
      const extras = { ...readEndExtras(row.extras), ledger };
      const next = unchanged(row, { kind: "end", exec_id, after: row.id, at: clock.now() }, id);
      const gcEnds = parts.gcEnds({ id, isWhole: false });
      await write([record], { checkpoint: { ...next, extras }, drop: [...drop, ...gcEnds] }, current.context);
      parts.onCheckpoint?.({ id, exec_id, kind: "end", pages: 0, bytes: 0, ms: 0 });
    },
    end: (machine, context, make, steps) =>
      keep(
        machine,
        "end",
        null,
        ({ checkpoint, answers }) => {
          const [memory = {}, helpers = []] = answers;
          const record = make({ checkpoint_id: checkpoint.id, helpers_hash: hashOf(helpers) });
          const { ledger, cells } = follow(current.account, record);
          return {
            records: [record],
            extras: { kind: "end", memory, helpers, context_hash: context?.hash ?? null, ledger, cells },
            drop: [...steps, ...parts.gcEnds({ id: checkpoint.id, isWhole: checkpoint.base === null })],
          };
        },
        () => context,
      ),
  };
}

/** Guest commands whose answers stand beside an exec's end. */
const EXPORTS = ["memory.export", "helpers.sources"];

/** Memory and helpers as the guest gave them. */
type GivenExtras = Omit<EndExtras, "memory" | "helpers"> & { readonly memory: Json; readonly helpers: Json };

function contextFacts(context: Context | null): SessionFacts["context"] {
  return context && { hash: context.hash, sources: context.stats.sources, chars: context.text.length };
}

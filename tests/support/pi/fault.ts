import type { ExtensionAPI } from "@mariozechner/pi-coding-agent";
import type { Store } from "../../../src/store/index.ts";

/** Where a Pi process kills itself: beside the n-th write of such a record, counted from when this was asked. */
export interface PiFault {
  /** The store's commit of the record, the entry of Pi's session that mirrors it, or Pi's event of that name. */
  readonly at: "commit" | "entry" | "event";
  readonly record: string;
  readonly side: "before" | "after";
  /** From 1; default 1. */
  readonly nth?: number;
}

/** The variable that holds a fault as JSON. Only the tests' own extension reads it. */
export const FAULT_VARIABLE = "BELAY_TEST_PI_FAULT";

/** What takes part in a fault: the store and Pi's interface, each as before until the fault is due. */
export interface Faults {
  /** Replaces the fault that was asked for, and counts anew. */
  ask(fault: PiFault): void;
  around(store: Store): Store;
  entries(pi: ExtensionAPI): ExtensionAPI;
  /** Is called behind Belay's own handler of an event. */
  happened(event: string): void;
}

export function faultsFrom(text: string | undefined): Faults {
  let asked: PiFault | null = text === undefined ? null : JSON.parse(text);
  let left = asked?.nth ?? 1;
  /** Whether the process dies at this write. */
  const due = (at: PiFault["at"], records: readonly string[]) =>
    asked?.at === at && records.includes(asked.record) && --left === 0 ? asked.side : null;
  return {
    ask(fault) {
      asked = fault;
      left = fault.nth ?? 1;
    },
    happened(event) {
      if (due("event", [event])) die();
    },
    around: (store) => ({
      ...store,
      async commit(session, step) {
        const side = due("commit", step.records?.map(({ record }) => record) ?? []);
        if (side === "before") die();
        const more = await store.commit(session, step);
        if (side === "after") die();
        return more;
      },
    }),
    entries: (pi) => ({
      ...pi,
      appendEntry(customType, data) {
        const side = due("entry", [customType]);
        if (side === "before") die();
        pi.appendEntry(customType, data);
        if (side === "after") die();
      },
    }),
  };
}

function die(): never {
  process.kill(process.pid, "SIGKILL");
  // Not a step further, should the signal take its time.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
  throw new Error("a process outlived SIGKILL");
}

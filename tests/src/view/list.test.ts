import { expect, test } from "vitest";
import { describeExecs } from "../../../src/history/index.ts";
import { lastOf, rowsOf } from "../../../src/view/page/list.ts";
import type { Fold, Model } from "../../../src/view/page/model.ts";
import { foldKey } from "../../../src/view/page/view.ts";
import { asked, sessionOf } from "../../support/ask/described.ts";
import { openJournal } from "../../support/ask/journal.ts";
import { modelled, traced } from "../../support/view/traced.ts";

type Wanted = Parameters<typeof rowsOf>[0];

/** A cell with a call, then batches of these sizes; the call before the last answer failed. */
function withBatches(...sizes: readonly number[]) {
  const journal = openJournal(0);
  journal.start("cell", "cell", "many");
  journal.call("cell", 1, "llm_query", ["alone"]);
  let call = 1;
  for (const [index, size] of sizes.entries()) {
    for (let at = 0; at < size; at++) journal.call("cell", ++call, "llm_query", ["part", null, { id: index + 1 }]);
  }
  for (let at = 1; at <= call; at++) {
    const failed = at === call ? { success: false, value: { code: "timeout" } } : {};
    journal.result("cell", at, "llm_query", "yes", failed);
  }
  return modelled(traced(sessionOf(describeExecs(journal.records))));
}

function listed(model: Model, more: Partial<Wanted> = {}, isOpen: (fold: Fold) => boolean = () => false) {
  const open = new Set(model.folds.filter(isOpen).map((fold) => foldKey(fold, model)));
  const all = { kinds: new Set<number>(), error: 0, query: "", found: null, execs: null, order: "as made" } as const;
  const { rows, calls } = rowsOf({ model, ...all, open, ...more });
  const told = [...rows].map((row) => {
    const fold = model.folds[-1 - row];
    return fold ? `${fold.batches} of ${fold.to - fold.from}` : String(row);
  });
  return { rows: told, calls };
}

test("a batch of more than 12 calls is one row, and so are more than three batches that follow each other", () => {
  const few = withBatches(12, 13);
  const twelve = Array.from({ length: 13 }, (_, call) => String(call));
  expect(listed(few)).toEqual({ rows: [...twelve, "1 of 13"], calls: 26 });
  const many = withBatches(2, 14, 1, 3);
  expect(listed(many)).toEqual({ rows: ["0", "4 of 20"], calls: 21 });
  const outer = listed(many, {}, ({ batches }) => batches > 1);
  expect(outer).toEqual({ rows: ["0", "4 of 20", "1", "2", "1 of 14", "17", "18", "19", "20"], calls: 21 });
  expect(listed(many, {}, () => true).rows).toHaveLength(21 + 2);
});

test("a filter counts what passes, and lists only folds with such calls", () => {
  const model = withBatches(13, 14);
  const lost = new Set([model.columns.of("kind", 27)]);
  expect(listed(model, { kinds: lost })).toEqual({ rows: ["1 of 14"], calls: 1 });
  expect(listed(model, { kinds: lost }, () => true)).toEqual({ rows: ["1 of 14", "27"], calls: 1 });
  expect(listed(model, { error: model.columns.of("error", 27) })).toEqual({ rows: ["27"], calls: 1 });
  expect(listed(model, { query: "part", found: new Set([3, 27]) })).toEqual({ rows: ["3", "27"], calls: 2 });
  expect(listed(model, { found: new Set([0]) })).toEqual({ rows: ["0"], calls: 1 });
});

test("a child's calls are below the call that it answers, also of the execs that are chosen", () => {
  const model = modelled(traced(asked()));
  expect(listed(model)).toEqual({ rows: ["0", "1", "2", "3", "4", "5", "6"], calls: 7 });
  const session = asked();
  const turned = session.execs.map((exec) => ({ ...exec, calls: exec.calls.toReversed() }));
  const other = modelled(traced({ ...session, execs: turned }));
  expect(listed(other).rows).toEqual(["0", "1", "3", "4", "2", "5", "6"]);
  const { execs } = model.head;
  expect([2, 3, 4, 5, 6, 9, 12].map((exec) => lastOf(execs, exec))).toEqual([12, 3, 9, 5, 9, 9, 12]);
  expect(listed(model, { execs: [4, lastOf(execs, 4)] })).toEqual({ rows: ["1", "2", "3", "4"], calls: 4 });
  // The second exec of the child.
  expect(listed(model, { execs: [9, 9] })).toEqual({ rows: ["4"], calls: 1 });
  const dearest = listed(model, { order: "dearest" }).rows.map((row) => model.columns.nanos(Number(row)));
  expect(dearest).toEqual(dearest.toSorted((one, other) => other - one));
});

import { expect, test } from "vitest";
import type { SmallContext } from "../../../src/context/index.ts";
import { load } from "../../../src/context/load/load.ts";
import { folderWith } from "../../support/tree.ts";
import { inputs, readIn, statements, wrongIn } from "./corpus/statements.ts";

// Statements of people about the texts of their files. corpus/README.md tells how a statement is added.

const KINDS = statements();
const ALL = Object.values(KINDS).flat();
/** Statements that no reader satisfies yet are required as well, to see which they are. */
const isStrict = process.env.BELAY_CORPUS_OPEN !== undefined;

/** All inputs, read by the first test that asks. */
let loaded: Promise<SmallContext> | undefined;

async function all(): Promise<SmallContext> {
  const cwd = folderWith(inputs());
  return load({ kind: "path", path: "." }, { cwd, roots: [cwd] });
}

test.for(Object.keys(KINDS))("each statement of %s is right", async (kind) => {
  loaded ??= all();
  const context = await loaded;
  const wrong = (KINDS[kind] ?? []).flatMap((statement) => {
    if (statement.open && !isStrict) return [];
    const problem = wrongIn(statement, readIn(context, statement.file));
    return problem === undefined ? [] : [`${statement.id} (${statement.file}): ${statement.says}: ${problem}`];
  });
  expect(wrong).toEqual([]);
});

test("each statement has an id of its own, and each input has statements", () => {
  const ids = ALL.map(({ id }) => id);
  expect(ids.filter((id, at) => ids.indexOf(id) !== at)).toEqual([]);
  const said = new Set(ALL.map(({ file }) => file));
  expect(Object.keys(inputs()).filter((name) => !said.has(name))).toEqual([]);
});

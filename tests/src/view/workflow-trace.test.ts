import { expect, test } from "vitest";
import { NO_USAGE } from "../../../src/models/index.ts";
import { MARKS } from "../../../src/view/format.ts";
import { sumsOver, tokensOf } from "../../../src/view/page/model.ts";
import { phasesOf, stateOf, type WorkflowExec } from "../../../src/view/page/run.ts";
import { modelled, textsIn, traced } from "../../support/view/traced.ts";
import { workflowSession } from "../../support/view/workflow.ts";

function runOf(trace: ReturnType<typeof traced>): WorkflowExec {
  const exec = trace.head.execs.find((one): one is WorkflowExec => one.workflow !== null);
  if (!exec) throw new Error("the trace has no workflow");
  return exec;
}

test("a run's trace has the head of its script, and of each agent its label, its phase and who answered", () => {
  const trace = traced(workflowSession());
  const { head } = trace;
  const model = modelled(trace);
  const { workflow } = runOf(trace);
  expect(workflow).toMatchObject({
    name: "audit",
    description: "Looks for faults, and <b>verifies</b> each",
    args: '{\n "files": [\n  "a.ts"\n ]\n}',
    agent: "claude",
  });
  const rows = Array.from({ length: head.calls }, (_, call) => {
    const { of } = model.columns;
    const name = (list: readonly string[], column: "label" | "phase" | "model") => list[of(column, call)];
    return [name(head.phases, "phase"), name(head.labels, "label"), name(head.models, "model"), of("marks", call)];
  });
  expect(rows).toEqual([
    ["Find", "file 1", "agent:claude/default", 0],
    ["Find", "file 2", "agent:claude/default", 0],
    ["Find", "file 3", "agent:claude/default", 0],
    // Without a label it is named by the beginning of its prompt.
    ["Verify", "Verify <i>1.ts</i>", "agent:claude/opus", 1 << MARKS.indexOf("worktree")],
    ["Late", "sum", "anthropic/claude-haiku-4-5", 0],
  ]);
  const phases = [...phasesOf(model, runOf(trace))].map(([phase, calls]) => [head.phases[phase], calls]);
  expect(phases).toEqual([
    ["Find", [0, 1, 2]],
    ["Verify", [3]],
    ["Report", []],
    ["Late", [4]],
  ]);
});

test("agents without an answer are known by what was asked for, and wait if no process runs them", () => {
  const trace = traced(workflowSession("open", 3, { status: "unfinished" }));
  const model = modelled(trace);
  expect(trace.head.models[model.columns.of("model", 3)]).toBe("agent:claude/opus");
  expect([0, 1, 3].map((call) => stateOf(model, call))).toEqual(["done", "✗ failed: timeout", "… waits"]);
});

test("answers of an earlier run and by hand are marked, and changes in a worktree are named", () => {
  const session = workflowSession();
  const execs = session.execs.map((exec) => ({
    ...exec,
    calls: exec.calls.map((call, at) =>
      at < 2 ? { ...call, cached: true, by_hand: at === 1, worktrees: at === 0 ? ["/trees/1"] : [] } : call,
    ),
  }));
  const trace = traced({ ...session, execs });
  const model = modelled(trace);
  expect([0, 1, 2].map((call) => model.columns.of("marks", call))).toEqual([
    1 << MARKS.indexOf("taken over"),
    1 << MARKS.indexOf("by hand"),
    0,
  ]);
  expect([0, 1].map((call) => stateOf(model, call))).toEqual(["done", "done"]);
  expect(textsIn(trace)[0]).toEqual(["Audit 1.ts", "one fault", "/trees/1"]);
});

test("mended answers, parameters that a model did not take and estimated tokens are marked", () => {
  const session = workflowSession();
  const execs = session.execs.map((exec) => ({
    ...exec,
    calls: exec.calls.map((call, at) => {
      const usage = { ...NO_USAGE, input: 100, output: 50, estimated: at === 0 ? 150 : 0 };
      return {
        ...call,
        usage,
        mended: at < 2 ? ["punctuation"] : [],
        ignored: at === 1 ? ["top_p"] : [],
        cached: at === 2,
      };
    }),
  }));
  const model = modelled(traced({ ...session, execs }));
  const [mended, without] = [1 << MARKS.indexOf("mended"), 1 << MARKS.indexOf("without a parameter")];
  expect([0, 1, 3].map((call) => model.columns.of("marks", call) & (mended | without))).toEqual([
    mended,
    mended | without,
    0,
  ]);
  const tokensOfCall = (call: number) => tokensOf(sumsOver(model, [call]));
  expect([0, 1].map(tokensOfCall)).toEqual(["~150", "150"]);
});

test("without texts a run has no name, labels and args, and its phases have numbers", () => {
  const trace = traced(workflowSession(), { texts: false });
  expect(trace.head.phases).toEqual(["", "phase 1", "phase 2", "phase 3", "phase 4"]);
  expect(trace.head.labels.filter((label) => label !== "").every((label) => /^call \d$/.test(label))).toBe(true);
  expect(runOf(trace).workflow).toMatchObject({ name: "", description: "", args: "" });
  expect(textsIn(trace)).toEqual([]);
  expect(JSON.stringify(trace.head)).not.toMatch(/audit|Audit|Find|file 1|opus/);
});

test("a cell that is no workflow, or whose head cannot be read, is a cell as before", () => {
  const session = workflowSession();
  const withSource = (source: string) => ({ ...session, execs: session.execs.map((exec) => ({ ...exec, source })) });
  const source = String(session.execs[0]?.source);
  for (const other of [
    "result = 1",
    "/* workflow a: b */ result = 1",
    source.replace('name: "audit"', "name: audit"),
  ]) {
    expect(traced(withSource(other)).head.execs.map(({ workflow }) => workflow)).toEqual([null]);
  }
});

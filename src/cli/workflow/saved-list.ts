import { inLine } from "../../platform/visible.ts";
import { type SavedWorkflow, savedWorkflows } from "../../workflow/index.ts";
import type { Arguments } from "../flags/arguments.ts";
import { OUTPUT_FLAGS } from "../flags/declared.ts";
import { commandLine } from "../flags/usage.ts";
import { type Column, showTable } from "../render/table.ts";
import { workflowPlaces } from "../session/workflow-options.ts";
import { showingFailures } from "../store/open-store.ts";

/** `belay workflow` without a script: lists those that are saved. Gives the exit code. */
export function listSaved(args: Arguments): Promise<number> {
  return showingFailures(args, async ({ stdout, stderr }) => {
    const all = savedWorkflows(workflowPlaces(process.cwd()));
    if (args.get(OUTPUT_FLAGS.json)) return stdout.json({ success: true, workflows: all.map(told) });
    const there = all.filter(({ script }) => script !== null);
    if (there.length === 0) stdout.write(`${NONE}\n`);
    else showTable(TITLES, there.map(rowOf), COLUMNS, stdout);
    for (const { file, problem, hides } of all) {
      if (problem !== null) stderr.line(`${inLine(file)} is left out: ${problem}`, "yellow");
      for (const hidden of hides)
        stderr.line(`${inLine(hidden)} is left out: ${inLine(file)} has the same name`, "yellow");
    }
    const untrusted = there.find(({ isTrusted }) => !isTrusted);
    if (untrusted)
      stderr.line(`read one that is not trusted, then: ${commandLine(["workflow", untrusted.name, "--trust"])}`, "dim");
  });
}

const NONE =
  "no workflows are saved in ~/.belay/workflows, ~/.claude/workflows, .belay/workflows or .claude/workflows\nrun a file: belay workflow FILE";
const TITLES = ["workflow", "written by", "description", "file"];
const COLUMNS: readonly Column[] = ["left", "left", "left", "left 1"];

/** The user's own are theirs; others may have written a project's. */
function authorOf({ of, isTrusted }: SavedWorkflow): string {
  if (of === "user") return "you";
  return isTrusted ? "the project, trusted" : "the project, not trusted";
}

const rowOf = (saved: SavedWorkflow) => [saved.name, authorOf(saved), saved.script?.meta.description ?? "", saved.file];

/** A saved workflow, for programs. */
function told({ name, of, file, isTrusted, script, problem, hides }: SavedWorkflow): object {
  const { description = null, whenToUse = null, phases = [] } = script?.meta ?? {};
  return { name, of, file, trusted: isTrusted, description, when_to_use: whenToUse, phases, problem, hides };
}

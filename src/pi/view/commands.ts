import type { ExtensionAPI } from "@mariozechner/pi-coding-agent";
import { RlmError } from "../../../runtime/index.ts";
import { idEnd } from "../../platform/ids.ts";
import { nearest } from "../../platform/nearest.ts";
import { inPi } from "../wording.ts";
import { type Control, isRunning } from "./control.ts";
import { clear, externalize, off } from "./externalize-verbs.ts";
import { checkpointChoices, sessionsPage, settingsPage, statusPage } from "./pages.ts";
import { inspect, page, store, trace } from "./report-verbs.ts";
import { oneLine, say } from "./texts.ts";
import { type CommandContext, type CommandParts, cancelled, type Verb } from "./verb.ts";

/** Adds `/rlm` to Pi. */
export function registerCommands(
  pi: Pick<ExtensionAPI, "registerCommand">,
  control: Control,
  parts: CommandParts,
): void {
  pi.registerCommand("rlm", {
    description: `RLM: ${VERBS.map(({ name }) => name).join(", ")}`,
    getArgumentCompletions: completions,
    handler: (args, context) => runCommand(args, control, context, parts),
  });
}

const VERBS: readonly Verb[] = [
  {
    name: "status",
    description: "Context, budget, checkpoints, what runs",
    async run({ board, refresh }, _context, { now }) {
      await refresh();
      return statusPage(board.current(), now());
    },
  },
  {
    name: "on",
    description: "Offer the rlm tools to the model",
    run(control) {
      control.setEnabled(true);
      return "RLM is on: the model is offered its tools";
    },
  },
  off,
  externalize,
  clear,
  {
    name: "cancel",
    description: "End what runs; what it changed so far stays",
    run: (control) => cancelled(control) ?? "nothing runs",
  },
  store,
  inspect,
  trace,
  page,
  {
    name: "sessions",
    description: "Sessions in Belay's store",
    async run({ board, refresh, sessions }, _context, { now }) {
      await refresh();
      return sessionsPage(await sessions(), board.current().session, now());
    },
  },
  {
    name: "checkpoints",
    description: "Go back to an earlier state, and on from there",
    run: pickCheckpoint,
  },
  {
    name: "config",
    description: "Settings in force, and where they come from",
    run: ({ settings }, { cwd }) => settingsPage(settings(cwd)),
  },
];

/** Never rejects: what goes wrong is said. */
export async function runCommand(
  line: string,
  control: Control,
  context: CommandContext,
  parts: CommandParts,
): Promise<void> {
  const [typed = "", ...rest] = line.trim().split(/\s+/);
  const verb = VERBS.find(({ name }) => name === (typed || "status"));
  try {
    if (!verb) throw unknownVerb(typed);
    const text = await verb.run(control, context, parts, rest.join(" "));
    if (text !== null) say(text, "info", context, parts.write);
  } catch (error) {
    const { message, suggestion } = error instanceof RlmError ? error : { message: String(error), suggestion: "" };
    say(suggestion === "" ? message : `${message}\n${inPi(suggestion)}`, "error", context, parts.write);
  }
}

/** Completions after `/rlm `. Returns null if nothing fits, or if the word is complete: Enter then runs it. */
export function completions(typed: string): { value: string; label: string; description: string }[] | null {
  const all = VERBS.flatMap(({ name, description, option }) => [
    { value: name, description },
    ...(option ? [{ value: `${name} ${option.argument}`, description: option.description }] : []),
  ]);
  const fitting = all.filter(({ value }) => value !== typed && value.startsWith(typed.toLowerCase()));
  return fitting.length > 0 ? fitting.map((item) => ({ ...item, label: item.value })) : null;
}

function unknownVerb(typed: string): RlmError {
  const names = VERBS.map(({ name }) => name);
  const meant = nearest(typed, names);
  return new RlmError("invalid_argument", `/rlm has no ${oneLine(typed, 40)}`, {
    suggestion: meant ? `Did you mean /rlm ${meant}?` : `There are ${names.map((name) => `/rlm ${name}`).join(", ")}.`,
  });
}

/**
 * Goes to a checkpoint: the one whose id ends as wanted, or the one that is picked from a list. If nobody can be asked, the list
 * is the answer.
 *
 * @throws RlmError if something runs, or if no checkpoint fits
 */
async function pickCheckpoint(
  control: Control,
  { hasUI, ui }: CommandContext,
  { now }: CommandParts,
  wanted: string,
): Promise<string | null> {
  const { running } = control.board.current();
  if (running) throw isRunning(running.tool);
  const branch = await control.branch();
  if (!branch) return "RLM was not used on this branch: there is no checkpoint";
  const choices = checkpointChoices(branch.session, branch.checkpoint, now());
  const labels = choices.map(({ label }) => label);
  if (wanted === "" && !hasUI) return labels.join("\n");
  const picked = wanted === "" ? await ui.select("Go on from which state?", labels) : null;
  if (picked === undefined) return null;
  const [only, other] = choices.filter(({ id, label }) =>
    picked === null ? id.endsWith(wanted.toUpperCase()) : label === picked,
  );
  if (!only || other) {
    const problem = `${only ? "several checkpoints end" : "no checkpoint ends"} in ${wanted}`;
    throw new RlmError("checkpoint_not_found", problem, { suggestion: "/rlm checkpoints lists them." });
  }
  if (only.id === branch.checkpoint) return "the branch is there already";
  await control.goTo(branch.session.id, only.id);
  return `the branch is at checkpoint ${idEnd(only.id)}: variables, memory, helpers, context and budget are those of then; the conversation is as it is`;
}

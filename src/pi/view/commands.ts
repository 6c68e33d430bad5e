import type { ExtensionAPI } from "@mariozechner/pi-coding-agent";
import { RlmError } from "../../../runtime/index.ts";
import { nearest } from "../../platform/nearest.ts";
import { inPi } from "../wording.ts";
import type { Control } from "./control.ts";
import { clear, externalize, off } from "./outside-verbs.ts";
import { sessionsPage, settingsPage, statusPage } from "./pages.ts";
import { pickCheckpoint } from "./pick-checkpoint.ts";
import { inspect, store, trace } from "./report-verbs.ts";
import { harmless, oneLine } from "./texts.ts";
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
    run: (control, { hasUI, ui }, { now }, wanted) =>
      pickCheckpoint(control, wanted, hasUI ? (title, options) => ui.select(title, options) : null, now()),
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
    if (text !== null) say(text, "info");
  } catch (error) {
    const { message, suggestion } = error instanceof RlmError ? error : { message: String(error), suggestion: "" };
    say(suggestion === "" ? message : `${message}\n${inPi(suggestion)}`, "error");
  }

  function say(text: string, type: "info" | "error"): void {
    if (context.hasUI) context.ui.notify(harmless(text), type);
    else parts.write(`${harmless(text)}\n`);
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

import type { ExtensionAPI } from "@mariozechner/pi-coding-agent";
import { RlmError } from "../../runtime/index.ts";
import { nearest } from "../nearest.ts";
import type { Control } from "./view/control.ts";
import { oneLine } from "./view/figures.ts";
import { type Choice, checkpointChoices, sessionsPage, settingsPage, shortId, statusPage } from "./view/pages.ts";

/** What a command is given of Pi. */
export interface CommandContext {
  readonly cwd: string;
  /** Dialogs can be shown. */
  readonly hasUI: boolean;
  readonly ui: {
    notify(message: string, type?: "info" | "warning" | "error"): void;
    select(title: string, options: string[]): Promise<string | undefined>;
  };
}

export interface CommandParts {
  /** ms since the epoch. */
  now(): number;
  /** Where a command speaks when there is no user interface. */
  write(text: string): void;
}

/** Adds `/rlm` to Pi. */
export function registerCommands(
  pi: Pick<ExtensionAPI, "registerCommand">,
  control: Control,
  parts: CommandParts,
): void {
  pi.registerCommand("rlm", {
    description: "RLM: status, on, off, cancel, sessions, checkpoints, config",
    getArgumentCompletions: completions,
    handler: (args, context) => runCommand(args, control, context, parts),
  });
}

interface Verb {
  readonly name: string;
  readonly description: string;
  /** What is to be said, or null. */
  run(
    control: Control,
    context: CommandContext,
    parts: CommandParts,
    argument: string,
  ): Promise<string | null> | string;
}

const VERBS: readonly Verb[] = [
  {
    name: "status",
    description: "Context, budget, checkpoints, what runs",
    run: ({ board }, _context, { now }) => statusPage(board.current(), now()),
  },
  {
    name: "on",
    description: "Offer the rlm tools to the model",
    run(control) {
      control.setEnabled(true);
      return "RLM is on: the model is offered its tools";
    },
  },
  {
    name: "off",
    description: "Take the rlm tools away from the model; nothing is lost",
    run(control) {
      control.setEnabled(false);
      return "RLM is off: the model is not offered its tools until /rlm on or the next session of Pi. Its state stays.";
    },
  },
  {
    name: "cancel",
    description: "End what runs; what it changed so far stays",
    run({ board, cancel }) {
      const { running } = board.current();
      if (!cancel()) return "nothing runs";
      return `${running?.tool ?? "the call"} ends as cancelled; what it changed so far stays`;
    },
  },
  {
    name: "sessions",
    description: "Sessions in Belay's store",
    run: async ({ board, sessions }, _context, { now }) =>
      sessionsPage(await sessions(), board.current().session, now()),
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
    if (text !== null) say(text, "info");
  } catch (error) {
    const { message, suggestion } = error instanceof RlmError ? error : { message: String(error), suggestion: "" };
    say(suggestion === "" ? message : `${message}\n${suggestion}`, "error");
  }

  function say(text: string, type: "info" | "error"): void {
    if (context.hasUI) context.ui.notify(text, type);
    else parts.write(`${text}\n`);
  }
}

/** What can follow `/rlm `, as far as it is typed; null where nothing fits, or where it is whole: Enter then runs it. */
export function completions(typed: string): { value: string; label: string; description: string }[] | null {
  const fitting = VERBS.filter(({ name }) => name !== typed && name.startsWith(typed.toLowerCase()));
  const items = fitting.map(({ name, description }) => ({ value: name, label: name, description }));
  return items.length > 0 ? items : null;
}

function unknownVerb(typed: string): RlmError {
  const names = VERBS.map(({ name }) => name);
  const meant = nearest(typed, names);
  return new RlmError("invalid_argument", `/rlm has no ${oneLine(typed, 40)}`, {
    suggestion: meant ? `Did you mean /rlm ${meant}?` : `There are ${names.map((name) => `/rlm ${name}`).join(", ")}.`,
  });
}

async function pickCheckpoint(
  control: Control,
  { hasUI, ui }: CommandContext,
  { now }: CommandParts,
  wanted: string,
): Promise<string | null> {
  const { running } = control.board.current();
  if (running) {
    throw new RlmError("exec_unfinished", `${running.tool} is running`, {
      suggestion: "Wait for it, or end it with /rlm cancel.",
    });
  }
  const branch = await control.branch();
  if (!branch) return "RLM was not used on this branch: there is no checkpoint";
  const choices = checkpointChoices(branch.session, branch.checkpoint, now());
  const picked = wanted === "" ? await ask(choices) : choices.filter(({ id }) => id.endsWith(wanted.toUpperCase()));
  if (picked === null) return hasUI ? null : choices.map(({ label }) => label).join("\n");
  const [only, other] = picked;
  if (!only || other) {
    throw new RlmError("checkpoint_lost", `${only ? "several checkpoints end" : "no checkpoint ends"} in ${wanted}`, {
      suggestion: "/rlm checkpoints lists them.",
    });
  }
  if (only.id === branch.checkpoint) return "the branch stands there already";
  await control.goTo(branch.session.id, only.id);
  return `the branch stands at checkpoint ${shortId(only.id)}: variables, memory, helpers, context and budget are those of then; the conversation is as it is`;

  async function ask(among: readonly Choice[]): Promise<readonly Choice[] | null> {
    if (!hasUI) return null;
    const label = await ui.select(
      "Go on from which state?",
      among.map((choice) => choice.label),
    );
    return label === undefined ? null : among.filter((choice) => choice.label === label);
  }
}

import { RlmError } from "../../../runtime/index.ts";
import { idEnd } from "../../platform/ids.ts";
import { type Control, isRunning } from "./control.ts";
import { type Choice, checkpointChoices } from "./pages.ts";

/** Shows a list. Resolves with undefined if the user chose nothing. */
type Select = (title: string, options: string[]) => Promise<string | undefined>;

/**
 * Goes to a checkpoint: the one whose id ends as wanted, or the one that is picked from a list. Gives what is to be said.
 *
 * @param select null if the user cannot be asked: the list itself is then what is said
 * @param now ms since the epoch
 * @throws RlmError if something runs, or if no checkpoint fits
 */
export async function pickCheckpoint(
  control: Control,
  wanted: string,
  select: Select | null,
  now: number,
): Promise<string | null> {
  const { running } = control.board.current();
  if (running) throw isRunning(running.tool);
  const branch = await control.branch();
  if (!branch) return "RLM was not used on this branch: there is no checkpoint";
  const choices = checkpointChoices(branch.session, branch.checkpoint, now);
  const picked = wanted === "" ? await ask(choices) : choices.filter(({ id }) => id.endsWith(wanted.toUpperCase()));
  if (picked === null) return select ? null : choices.map(({ label }) => label).join("\n");
  const [only, other] = picked;
  if (!only || other) {
    throw new RlmError(
      "checkpoint_not_found",
      `${only ? "several checkpoints end" : "no checkpoint ends"} in ${wanted}`,
      {
        suggestion: "/rlm checkpoints lists them.",
      },
    );
  }
  if (only.id === branch.checkpoint) return "the branch stands there already";
  await control.goTo(branch.session.id, only.id);
  return `the branch stands at checkpoint ${idEnd(only.id)}: variables, memory, helpers, context and budget are those of then; the conversation is as it is`;

  async function ask(among: readonly Choice[]): Promise<readonly Choice[] | null> {
    if (!select) return null;
    const label = await select(
      "Go on from which state?",
      among.map((choice) => choice.label),
    );
    return label === undefined ? null : among.filter((choice) => choice.label === label);
  }
}

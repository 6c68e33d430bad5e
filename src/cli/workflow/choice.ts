import { RlmError } from "../../index.ts";
import { amount, priced } from "../../platform/figures.ts";
import { inLine } from "../../platform/visible.ts";
import type { Arguments } from "../flags/arguments.ts";
import type { Flag } from "../flags/flag.ts";
import { commandLine } from "../flags/usage.ts";
import { ask, canAsk } from "../render/question.ts";
import type { InSession } from "../session/opening.ts";
import type { EarlierRun } from "./run-name.ts";

/** The way in which a changed script is run: with answers of the earlier run, or with none. */
type Choice = "reuse" | "new";

/**
 * Lets the user choose what an edited script takes over. A comment that was added must not pay for
 * every agent again. A terminal asks.
 *
 * @param line the words that were typed behind `belay`
 * @throws RlmError `invalid_argument` with both lines, where nobody can be asked
 */
export async function chosen(
  earlier: EarlierRun,
  line: readonly string[],
  { terminal: { stderr }, stop, isJson }: InSession,
): Promise<Choice> {
  const { name, answers, cost_usd } = earlier;
  const got = [amount(answers, "answer"), ...priced(cost_usd)].join(", ");
  const problem = `the script has an earlier run with another text: ${inLine(name)} (${got})`;
  if (!isJson && canAsk(stderr)) {
    stderr.write(`${problem}\n`, "yellow");
    const typed = await ask("[r]euse its answers, begin a [n]ew run, or [q]uit? ", stderr, stop.signal);
    if (typed === "r" || typed === "reuse") return "reuse";
    if (typed === "n" || typed === "new") return "new";
    throw new RlmError("cancelled", "nothing was started", { suggestion: "Run the line again." });
  }
  const reuse = commandLine([...line, "--reuse", name]);
  throw new RlmError("invalid_argument", `${problem}. Nothing was started`, {
    suggestion: `\`${reuse}\` makes only the calls that ask something new; \`${commandLine([...line, "--new"])}\` takes over nothing.`,
  });
}

/**
 * The words of a line of `belay workflow`, without some of its flags and their values: a line to
 * type begins a run, continues it, or runs it in another way.
 */
export function lineWithout({ typed }: Pick<Arguments, "typed">, flags: readonly Flag[]): readonly string[] {
  const left = flags.map(({ name, type }) => ({ word: `--${name}`, hasValue: type.word !== null }));
  const isLeft = (word: string, at: number) => {
    const isFlag = left.some(({ word: flag }) => word === flag || word.startsWith(`${flag}=`));
    return isFlag || left.some(({ word: flag, hasValue }) => hasValue && typed[at - 1] === flag);
  };
  return ["workflow", ...typed.filter((word, at) => !isLeft(word, at))];
}

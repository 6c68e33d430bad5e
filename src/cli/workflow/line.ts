import type { Arguments } from "../flags/arguments.ts";
import type { Flag } from "../flags/flag.ts";

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

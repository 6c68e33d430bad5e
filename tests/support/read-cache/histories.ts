import fc from "fast-check";
import { ACTS, type Mutant, type Played, play, type Step } from "./world.ts";

/** Histories of up to 40 steps. */
export function histories(acts: readonly Step["act"][] = ACTS): fc.Arbitrary<Step[]> {
  const step = fc.record({ act: fc.constantFrom(...acts), a: fc.nat(99), b: fc.nat(999), c: fc.nat(999) });
  return fc.array(step, { minLength: 1, maxLength: 40, size: "max" });
}

/** The first history after which the model is wrong; null if there is none. */
export async function firstWrong(
  mutant: Mutant,
  { runs, seed }: { readonly runs: number; readonly seed: number },
): Promise<Played | null> {
  for (const steps of fc.sample(histories(mutant.acts), { numRuns: runs, seed })) {
    const played = await play(steps, mutant);
    if (played.wrong.length > 0) return played;
  }
  return null;
}

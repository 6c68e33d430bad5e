import { tmpdir } from "node:os";
import fc from "fast-check";
import type { Json } from "../../../runtime/index.ts";
import {
  exec,
  type Images,
  keepBaseline,
  keepImages,
  newState,
  openGuest,
  recorder,
  resume,
  type Saved,
} from "../../../tests/support/checkpoints.ts";
import { type Program, programs } from "../../../tests/support/programs.ts";
import { below, type Random } from "../mutate.ts";
import { different, type OpenSurface } from "../surface.ts";

/** Random programs: what a restore at each of their awaits gives is what they give without one. */
export const openPrograms: OpenSurface = async () => ({
  async play(random) {
    const [program] = fc.sample(programs("v"), { numRuns: 1, seed: below(random, 2 ** 31) });
    if (!program) throw new Error("no program was made");
    const source = withAwaits(random, program);
    const plain = await played(source, undefined);
    const images = keepImages();
    const saved = await played(source, images);
    const problem = different(`with checkpoints, ${source}`, saved.end, plain.end);
    if (problem) return problem;
    for (const moment of saved.saved) {
      const problem = different(
        `restored at ${moment.id}, ${source}`,
        await restored(source, images, moment),
        plain.end,
      );
      if (problem) return problem;
    }
    return null;
  },
  async [Symbol.asyncDispose]() {},
});

const SEED = [1, 2, 3, 4] as const;

/** The program with calls between its statements: some are awaited at once, some later, some at the end. */
function withAwaits(random: Random, { statements, shown }: Program): string {
  const started: string[] = [];
  const lines = statements.flatMap(({ declared }, index) => {
    const call = below(random, 4) === 0 ? `fails("f${index}").catch((error) => error.code)` : `later(${index})`;
    if (below(random, 2) === 0) return [declared, `print(await ${call})`];
    started.push(`waits${index}`);
    return [`var waits${index} = ${call}`, declared];
  });
  return [...lines, `[${shown}, ...(await Promise.all([${started.join(", ")}]))]`].join(";\n");
}

async function played(source: string, images: Images | undefined) {
  await using sandbox = await openGuest();
  if (images) await keepBaseline(sandbox, images);
  const calls = recorder(sandbox, images);
  const done = await exec(sandbox, { source, state: newState(), facts: null, seed: SEED }, calls);
  return { end: outcome(done), saved: calls.saved, answers: calls.answers };
}

async function restored(source: string, images: Images, { id, state, waiting }: Saved): Promise<unknown> {
  const image = { image: images.image(id), pending: "keep", cells: [] } as const;
  await using sandbox = await openGuest({ image });
  const calls = recorder(sandbox, undefined);
  return outcome(await resume(sandbox, { source, state, facts: null, waiting, replay: [] }, calls));
}

/** All that a caller sees of an exec, but for its time. */
function outcome({ end, state }: { readonly end: object; readonly state: { readonly output: unknown } }): Json {
  return JSON.parse(JSON.stringify({ end, output: state.output }).replaceAll(tmpdir(), ""));
}

import {
  exec,
  keepBaseline,
  keepImages,
  newState,
  openGuest,
  recorder,
  take,
} from "../../../tests/support/checkpoints.ts";
import { below, mutated } from "../mutate.ts";
import { type OpenSurface, unnamed } from "../surface.ts";

const CELL =
  "var kept = { list: [1, 2, 3], text: 'kept'.repeat(99), re: /k(e)p/g, map: new Map([[1, { a: 1n }]]) }; kept.list";
const LOOK = "[kept.list.length, kept.text.match(kept.re), kept.map.get(1)?.a === 1n, peek(0, 3), find('kept').length]";

/** Images whose bytes were changed behind their seals: whatever the guest then does, the host sees an end of its exec. */
export const openImages: OpenSurface = async () => {
  const images = keepImages();
  await using sandbox = await openGuest();
  await keepBaseline(sandbox, images);
  await exec(sandbox, { source: CELL, state: newState(), facts: null }, recorder(sandbox, undefined));
  await take(sandbox, images, { id: "image", base: sandbox.origin, kind: "end", commands: [] });
  return {
    async play(random) {
      const { memory, ...image } = images.image("image");
      for (let left = 1 + below(random, 64); left > 0; left -= 1) {
        const at = below(random, memory.length - 64);
        const part = mutated(random, memory.subarray(at, at + 64)).subarray(0, 64);
        memory.set(part, at);
      }
      const restoration = { image: { ...image, memory }, pending: "drop", cells: [] } as const;
      try {
        await using broken = await openGuest({ image: restoration });
        const state = { ...newState(), limits: { ...newState().limits, max_execution_ms: 200 } };
        const { end } = await exec(broken, { source: LOOK, state, facts: null }, recorder(broken, undefined));
        return end.kind === "cancelled" ? "it ended as cancelled" : null;
      } catch (error) {
        return unnamed(error);
      }
    },
    async [Symbol.asyncDispose]() {},
  };
};

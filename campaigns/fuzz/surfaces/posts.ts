import { tmpdir } from "node:os";
import { contextMessage } from "../../../src/session/machine/guest.ts";
import { openLibrary } from "../../../src/session/machine/services.ts";
import { scopeWith } from "../../../tests/support/builtin-services.ts";
import { contextOf } from "../../../tests/support/checkpoints.ts";
import { below, distorted, oddValue, pick } from "../mutate.ts";
import { named, type OpenSurface } from "../surface.ts";

/** Arguments that functions of the host take from a guest which minds them. */
const USUAL: readonly unknown[] = [
  ...[0, 5, 100, "alpha", "a.txt", /al/.source, [0, 5], ["alpha", "beta"], [{ op: "put", key: "k", value: 1 }]],
  ...[{ limit: 3, context: 10 }, { prefix: "a" }, { start: 0, end: 9 }, { schema: { type: "object" }, model: "m" }],
];

/** Whatever a guest posts that has rewritten its own prelude: the functions behind the builtins refuse it by name. */
export const openPosts: OpenSurface = async () => {
  const library = openLibrary();
  const context = await contextOf("alpha beta\ngamma alpha\n".repeat(200));
  library.receive(contextMessage(context, tmpdir()));
  library.receive({ functions: [{ name: "lookUp", description: "Looks up", parameters: {}, effects: "none" }] });
  const scope = scopeWith({});
  const names = [...Object.keys(library.sync), ...Object.keys(library.async)];
  return {
    async play(random) {
      const name = pick(random, names);
      const values = Array.from({ length: below(random, 5) }, () =>
        below(random, 3) === 0 ? oddValue(random) : distorted(random, pick(random, USUAL)),
      );
      // All that crosses is JSON.
      const args = JSON.parse(JSON.stringify(values));
      const run = library.sync[name] ?? library.async[name]?.check;
      const problem = await named(() => run?.(args, scope, name === "functions" ? "functions.lookUp" : name));
      return problem && `${name}(${JSON.stringify(args).slice(1, 200)}): ${problem}`;
    },
    async [Symbol.asyncDispose]() {
      library.close?.();
    },
  };
};

import { objectsCell, queryCell } from "../query/index.ts";
import type { Session } from "./api.ts";
import { runCell } from "./exec/run-exec.ts";
import { queryEnvelope } from "./journal/envelope.ts";
import { checkOptions, QUERY_OPTIONS, READING_OPTIONS } from "./options.ts";
import type { Setup } from "./setup.ts";
import type { Turns } from "./turns.ts";

/** Queries by cells shipped with Belay, on a machine that is thrown away. */
export function queriesOver(setup: Setup, whenFree: Turns["take"]): Pick<Session, "query" | "readObjects"> {
  return {
    async query(prompt, options = {}) {
      checkOptions("query()", QUERY_OPTIONS, options);
      const { maxSections, searchStrategy, ...asked } = options;
      const source = queryCell(prompt, options);
      return queryEnvelope(await whenFree(() => runCell(setup, { kind: "query", prompt, source }, asked)));
    },
    async readObjects(instructions, objects, options) {
      checkOptions("readObjects()", READING_OPTIONS, options);
      const { model, inlineTokens, maxTokens, estimate, ...asked } = options;
      const source = objectsCell(instructions, objects, options);
      const request = { kind: "query", prompt: instructions, source } as const;
      return queryEnvelope(await whenFree(() => runCell(setup, request, asked)));
    },
  };
}

import { objectsCell, queryCell } from "../query/index.ts";
import type { Session } from "./api.ts";
import type { Perform } from "./exec/request.ts";
import { queryEnvelope } from "./journal/envelope.ts";
import { checkOptions, QUERY_OPTIONS, READING_OPTIONS } from "./options.ts";
import { envelopeOf } from "./outcomes.ts";
import type { Setup } from "./setup.ts";

/** Queries by cells shipped with Belay, on a machine that is thrown away. */
export function queriesOver(setup: Setup, perform: Perform): Pick<Session, "query" | "readObjects"> {
  return {
    async query(prompt, options = {}) {
      checkOptions("query()", QUERY_OPTIONS, options);
      const { maxSections, searchStrategy, ...asked } = options;
      const source = queryCell(prompt, options);
      return queryEnvelope(envelopeOf(setup, await perform({ kind: "query", prompt, source }, asked)));
    },
    async readObjects(instructions, objects, options) {
      checkOptions("readObjects()", READING_OPTIONS, options);
      const { model, inlineTokens, maxTokens, estimate, ...asked } = options;
      const source = objectsCell(instructions, objects, options);
      return queryEnvelope(envelopeOf(setup, await perform({ kind: "query", prompt: instructions, source }, asked)));
    },
  };
}

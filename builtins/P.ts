import { argumentError, type Json } from "../runtime/index.ts";
import { argumentCheck, type Builtin, integer, string } from "./define.ts";
import { type ContextServices, type Services, tooLargeForP } from "./services.ts";

const sliceArguments = argumentCheck("P.slice", { hash: string, start: integer, end: integer });
const indexArguments = argumentCheck("P.indexOf", { hash: string, part: string, from: integer });
const refusalArguments = argumentCheck("P", { hash: string, what: string });
const halvedArguments = argumentCheck("P.indexOf", { name: string });

export const P: Builtin = {
  name: "P",
  signature: "const P: string",
  summary:
    'The whole context as one read-only string (UTF-16). Copied into the guest when first touched: prefer peek, find and search on large contexts. Over 100 MB or 10,000 documents P is not a string: `typeof P` is "object"; P.length, P[i], at, charAt, charCodeAt, codePointAt, slice, substring, substr, startsWith, endsWith, indexOf and includes work, and all else throws.',
  example: "P.length",
  errors: {
    context_not_loaded: "no context is loaded",
    js_error: "P is over 100 MB or 10,000 documents, and all of it is asked for (RangeError)",
  },
  source: new URL("./P.guest.js", import.meta.url),
  host: {
    "P.facts": (services) => {
      const { hash, length, isLarge } = services.context();
      return { hash, length, isLarge };
    },
    "P.ready": (services) => {
      const { coverage, length, isLarge } = services.context();
      if (isLarge) throw tooLargeForP(length);
      coverage.whole();
      return length;
    },
    "P.slice": (services, args) => {
      const { hash, start, end } = sliceArguments(args);
      return meant(services, hash).slice(start, end);
    },
    "P.indexOf": (services, args, scope) => {
      const { hash, part, from } = indexArguments(args);
      const context = meant(services, hash);
      const at = context.indexOf(part, from, scope.checkTime);
      if (at >= 0) context.coverage.matched([[at, at + part.length]]);
      return at;
    },
    "P.halved": (_services, args) => {
      throw argumentError(
        "RangeError",
        `${halvedArguments(args).name}: the text to look for has half of a character (a lone surrogate)`,
        "A P that is not a string is searched for whole characters: look for the whole one.",
      );
    },
    "P.refused": (services, args) => {
      const { hash, what } = refusalArguments(args);
      throw tooLargeForP(meant(services, hash).length, what);
    },
    "P.release": (_services, _args, scope) => {
      scope.releaseText("P");
      return null;
    },
  },
};

/** The context that a large P of the guest is of. @throws RlmError if another one is loaded */
function meant(services: Services, hash: Json): ContextServices {
  const context = services.context();
  if (context.hash === hash) return context;
  throw argumentError(
    "RangeError",
    "this P is of a context that is not loaded any more",
    "Use P by its own name: it is the context that is loaded now.",
  );
}

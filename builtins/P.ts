import type { Builtin } from "./define.ts";

export const P: Builtin = {
  name: "P",
  signature: "const P: string",
  summary:
    "The whole context as one read-only string (UTF-16). Copied into the guest when first touched: prefer peek, find and search on large contexts.",
  example: "P.length",
  errors: { context_not_loaded: "no context is loaded" },
  source: new URL("./P.guest.js", import.meta.url),
  host: {
    "P.ready": (services) => {
      const { coverage, length } = services.context();
      coverage.whole();
      return length;
    },
    "P.release": (_services, _args, scope) => {
      scope.releaseText("P");
      return null;
    },
  },
};

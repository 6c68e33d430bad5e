import { LIMITS, RlmError } from "../runtime/index.ts";
import { argumentCheck, type Builtin, string } from "./define.ts";

const checkArguments = argumentCheck("helpers.add", { name: string, code: string });

export const helpers: Builtin = {
  name: "helpers",
  signature: `helpers.add(name: string, code: string): void
helpers.list(): { name: string; code: string; set_aside?: string }[]
helpers.remove(name: string): boolean`,
  summary:
    "Scripts that run before each later cell, in the order they were added; their top-level names are globals of the cell, which it may shadow. add replaces a helper of the same name in place. One that failed is left out until it is added again or removed: set_aside of its list entry says why. At most 1 MB in all.",
  example: 'helpers.add("utils", "const lines = (text) => text.split(\'\\\\n\').length;");\nhelpers.list().length',
  errors: {
    js_error: "the code has a syntax error, awaits, or declares a builtin or a global of the machine",
    policy_violation: "the name is reserved or not a name",
    sandbox_violation: "the code imports",
    helper_limit_exceeded: "the helpers would hold more than 1 MB",
  },
  source: new URL("./helpers.guest.js", import.meta.url),
  host: {
    "helpers.check": (_services, args, scope) => {
      const { name, code } = checkArguments(args);
      checkName(name);
      scope.checkHelper(name, code);
      return LIMITS.helpersBytes;
    },
  },
};

function checkName(name: string): void {
  const reason = /^__/.test(name)
    ? "names that begin with two underscores are kept for the runtime"
    : RESERVED_WORDS.has(name)
      ? "it is a reserved word of JavaScript"
      : /^[A-Za-z_$][\w$-]{0,63}$/.test(name)
        ? undefined
        : "a name has letters, digits, _, $ or -, begins with no digit, and has at most 64 characters";
  if (!reason) return;
  throw new RlmError("policy_violation", `helpers.add: ${JSON.stringify(name.slice(0, 80))}: ${reason}`, {
    suggestion: "Choose another name for the helper.",
  });
}

const RESERVED_WORDS = new Set(
  "await break case catch class const continue debugger default delete do else enum export extends false finally for function if implements import in instanceof interface let new null package private protected public return static super switch this throw true try typeof var void while with yield arguments eval constructor prototype".split(
    " ",
  ),
);

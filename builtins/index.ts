import type { Library } from "../runtime/index.ts";
import { readGuestFile } from "../runtime/index.ts";
import { answer } from "./answer.ts";
import { budget } from "./budget.ts";
import { count } from "./count.ts";
import type { Builtin } from "./define.ts";
import { doc_at } from "./doc_at.ts";
import { factsOf } from "./facts.ts";
import { find } from "./find.ts";
import { find_routes } from "./find_routes.ts";
import { functions } from "./functions.ts";
import { help } from "./help.ts";
import { helpers } from "./helpers.ts";
import { history } from "./history.ts";
import { job } from "./job.ts";
import { limits } from "./limits.ts";
import { list_docs } from "./list_docs.ts";
import { llm_query } from "./llm_query.ts";
import { llm_query_batch } from "./llm_query_batch.ts";
import { isReserved, MACHINE_NAMES } from "./machine-names.ts";
import { memory } from "./memory.ts";
import { P } from "./P.ts";
import { peek } from "./peek.ts";
import { peek_doc } from "./peek_doc.ts";
import { rlm_query } from "./rlm_query.ts";
import { search } from "./search.ts";
import type { ContextServices, Services } from "./services.ts";
import { session } from "./session.ts";
import { stats } from "./stats.ts";

export type { Builtin, Described } from "./define.ts";
export { factsOf } from "./facts.ts";
export { functionLines } from "./functions.ts";
export { isReserved, MACHINE_NAMES } from "./machine-names.ts";
export { cellReference } from "./reference.ts";
export {
  type ChildContext,
  type ContextServices,
  type CoverageNotes,
  contextNotLoaded,
  type FunctionFacts,
  type HistoryServices,
  manyCharacters,
  noConversation,
  tooLargeForP,
} from "./services.ts";
export { callsOf, OF_HISTORY, readSubCall, type SubCallRequest } from "./sub-call.ts";

/** Every builtin, in the order of the documentation. */
export const builtins: readonly Builtin[] = [
  P,
  peek,
  peek_doc,
  find,
  search,
  list_docs,
  find_routes,
  stats,
  session,
  limits,
  budget,
  memory,
  helpers,
  llm_query,
  llm_query_batch,
  doc_at,
  help,
  count,
  answer,
  rlm_query,
  history,
  job,
  functions,
];

/**
 * The library of a session's machine: the builtins over the services, and what `receive` does with
 * host messages.
 */
export function createLibrary<Message>(
  services: Services,
  receive: Library<Message>["receive"],
  defined: readonly Builtin[] = builtins,
): Library<Message> {
  const hostFunctions = defined.flatMap(({ host = {} }) => Object.entries(host));
  const names = [
    ...Object.keys(MACHINE_NAMES).filter((name) => !name.startsWith("result")),
    ...defined.flatMap(({ name, aliases = [] }) => [name, ...aliases]),
  ];
  const host = { ...services, described: defined };
  return {
    sync: {
      ...Object.fromEntries(
        hostFunctions.map(([name, run]) => [name, (args, scope) => run(host, args, scope)] as const),
      ),
      "builtins.shadowed": ([name = null], scope) => {
        scope.warn(`builtin_shadowed: ${name}`);
        return null;
      },
    },
    async: Object.fromEntries(
      defined.flatMap(({ source, calls = {} }) =>
        Object.entries(calls).map(([name, check]): [string, Library<Message>["async"][string]] => [
          name,
          { installed: source === undefined, check: (args, scope, full) => check(services, args, scope, full) },
        ]),
      ),
    ),
    texts: {
      P: {
        id: () => idOfText(services.loaded()),
        read: () => ({ utf8: services.context().utf8(), length: services.context().length }),
      },
    },
    sources(facts) {
      const { job: input } = factsOf({ facts });
      return [
        ...(idOfText(services.loaded()) === null ? [] : [["P", services.context().utf8()] as const]),
        ...(input === null ? [] : [["job", Buffer.from(input.json)] as const]),
      ];
    },
    modules: defined.flatMap(({ name, source }) => (source ? [moduleIn(name, source)] : [])),
    reserved: new Set(names.filter(isReserved)),
    younger: new Set(names.filter((name) => !isReserved(name))),
    beginning: () => (services.functions().length > 0 ? "functions.offer" : null),
    preamble: { list: "helpers.sources", setAside: "helpers.aside" },
    receive,
  };
}

/** Its file is read when a guest is made that no image has. */
function moduleIn(name: string, file: URL): Library["modules"][number] {
  return {
    name,
    get source() {
      return readGuestFile(file);
    },
  };
}

/** A P that is too large for the guest is none of its texts. */
function idOfText(loaded: ContextServices | undefined): string | null {
  return loaded && !loaded.isLarge ? loaded.hash : null;
}

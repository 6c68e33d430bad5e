import type { HostServices } from "../../builtins/define.ts";
import { type ContextServices, type DocumentEntry, noConversation } from "../../builtins/services.ts";
import { type CallScope, DEFAULT_EXEC_LIMITS } from "../../runtime/index.ts";

/**
 * What a builtin is handed if P has these documents and no conversation is kept. Coverage is not noted. Whatever else it reads is
 * a mistake of its test.
 */
export function servicesOver(documents: readonly DocumentEntry[]): HostServices {
  const context: ContextServices = {
    ...{
      hash: "",
      sources: [],
      converted: null,
      skipped: null,
      length: documents.at(-1)?.end ?? 0,
      lines: 0,
      documents,
      isLarge: false,
    },
    documentNamed: (id) => documents.find((document) => document.id === id),
    documentFrom: (offset) => documents.find(({ end }) => end >= offset),
    documentsBegunWith: (prefix) => documents.filter(({ id }) => id.startsWith(prefix)),
    ...{
      slice: unused,
      utf8: unused,
      indexOf: unused,
      find: unused,
      count: unused,
      prepareLines: unused,
      place: unused,
      lineText: unused,
    },
    ...{ prepareSearch: unused, search: unused, routes: unused },
    coverage: { whole() {}, matched() {}, sent() {} },
  };
  const history = () => {
    throw noConversation();
  };
  return { context: () => context, loaded: () => context, history, functions: () => [], described: [] };
}

/** The scope of a call in which nothing happens but what a test names. */
export function scopeWith(named: Partial<CallScope>): CallScope {
  return {
    ...{ limits: DEFAULT_EXEC_LIMITS, facts: null, warn: () => {}, answer: () => {}, offClock: (work) => work() },
    ...{ checkTime: () => {}, notice: () => {}, checkHelper: () => {}, releaseText: () => {} },
    ...{ sliceMs: () => 0, newCalls: () => 0, newCallsOf: () => 0 },
    ...named,
  };
}

function unused(): never {
  throw new Error("this test has documents only");
}

import { expect, test } from "vitest";
import type { HostServices } from "../../builtins/define.ts";
import { list_docs } from "../../builtins/list_docs.ts";
import type { ContextServices, DocumentEntry } from "../../builtins/services.ts";
import { type CallScope, DEFAULT_EXEC_LIMITS } from "../../runtime/index.ts";

/** Services over documents alone; whatever else a builtin touches is a mistake. */
function servicesOver(documents: readonly DocumentEntry[]): HostServices {
  const unused = () => {
    throw new Error("list_docs reads documents only");
  };
  const context: ContextServices = {
    hash: "",
    sources: [],
    length: 0,
    lines: 0,
    documents,
    slice: unused,
    utf8: unused,
    find: unused,
    prepareSearch: unused,
    search: unused,
    routes: unused,
  };
  return { context: () => context, loaded: () => context, described: [] };
}

function scopeInto(warnings: string[]): CallScope {
  return {
    limits: DEFAULT_EXEC_LIMITS,
    facts: null,
    warn: (text) => warnings.push(text),
    offClock: (work) => work(),
    notice: () => {},
    checkHelper: () => {},
    sliceMs: () => 0,
    releaseText: () => {},
    newCalls: () => 0,
  };
}

const documents = (count: number) =>
  Array.from({ length: count }, (_, i) => ({ id: `d/${i}`, path: `/d/${i}`, size: 1, start: i, end: i + 1 }));

function listed(count: number, ...args: string[]) {
  const warnings: string[] = [];
  const list = list_docs.run(servicesOver(documents(count)), args, scopeInto(warnings));
  return { length: Array.isArray(list) ? list.length : -1, warnings };
}

test("a thousand documents are listed whole, of more the first thousand with a warning", () => {
  expect(listed(1000)).toEqual({ length: 1000, warnings: [] });
  expect(listed(1001)).toEqual({ length: 1000, warnings: ["list_docs_capped"] });
});

test("the cap counts what fits the prefix", () => {
  expect(listed(1500, "d/1")).toEqual({ length: 611, warnings: [] });
});

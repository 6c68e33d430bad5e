import { expect, test } from "vitest";
import { list_docs } from "../../builtins/list_docs.ts";
import type { Json } from "../../runtime/index.ts";
import { scopeWith, servicesOver } from "../support/builtin-services.ts";

const documents = (count: number) =>
  Array.from({ length: count }, (_, i) => ({ id: `d/${i}`, path: `/d/${i}`, size: 1, start: i, end: i + 1 }));

function listed(count: number, ...args: Json[]) {
  const warnings: string[] = [];
  const list = list_docs.run(servicesOver(documents(count)), args, scopeWith({ warn: (text) => warnings.push(text) }));
  const ids = Array.isArray(list) ? list.map((entry) => Object.assign({ id: "" }, entry).id) : [];
  return { length: ids.length, first: ids[0], warnings };
}

test("a thousand documents are listed whole, of more the first thousand with a warning", () => {
  expect(listed(1000)).toMatchObject({ length: 1000, warnings: [] });
  const warning =
    'list_docs_capped: 1000 of 1001 documents were listed; go on with list_docs("", { from: 1000, limit: 1000 })';
  expect(listed(1001)).toMatchObject({ length: 1000, warnings: [warning] });
});

test("the cap counts what fits the prefix", () => {
  expect(listed(1500, "d/1")).toMatchObject({ length: 611, warnings: [] });
});

test("pages begin where they are asked to, and a cell that pages is not warned", () => {
  expect(listed(2500, "", { from: 1000 })).toEqual({ length: 1000, first: "d/1000", warnings: [] });
  expect(listed(2500, "", { from: 2000 })).toEqual({ length: 500, first: "d/2000", warnings: [] });
  expect(listed(2500, "", { from: 9000 })).toMatchObject({ length: 0, warnings: [] });
  expect(listed(2500, "d/2", { from: 1, limit: 2 })).toEqual({ length: 2, first: "d/20", warnings: [] });
});

test("a limit above a thousand is a thousand, with a warning", () => {
  const { length, warnings } = listed(2500, null, { from: 100, limit: 2000 });
  expect([length, warnings]).toEqual([1000, [expect.stringContaining("from: 1100")]]);
});

test.each([{ from: -1 }, { limit: 0 }, { from: "2" }, { page: 2 }, 3])("the page %j is refused", (page) => {
  expect(() => listed(3, "", page)).toThrow(/^list_docs: page/);
});

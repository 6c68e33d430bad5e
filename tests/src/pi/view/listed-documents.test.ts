import { expect, test } from "vitest";
import { documentsOf } from "../../../../src/pi/view/control.ts";
import { contextOf, textFile } from "../../../support/converted.ts";
import { largeContext } from "../../../support/large-context.ts";

const files = (count: number) => Array.from({ length: count }, (_, n) => textFile(`${n}.txt`, `text ${n}\n`));

test("documents of a small P are named by their texts", async () => {
  const { listed, left } = await documentsOf(await contextOf(files(2)));
  expect(left).toBe(0);
  expect(listed.map(({ id, description }) => [id, description])).toEqual([
    [expect.stringMatching(/^rlm-obj-/), "0.txt"],
    [expect.stringMatching(/^rlm-obj-/), "1.txt"],
  ]);
});

test("the first 1,000 documents of a large P are listed by their own names, and nothing of it is read", async () => {
  const { listed, left } = await documentsOf(await largeContext([files(1002)]));
  expect([listed.length, left]).toEqual([1000, 2]);
  expect(listed[7]).toMatchObject({ id: "7.txt", is: "P", tokens: 2, description: "7.txt" });
  expect(listed[7]?.text()).toBe("text 7\n");
});

test("of a long document of a large P the beginning is looked at", async () => {
  const { listed } = await documentsOf(await largeContext([[textFile("a.log", "é".repeat(70_000))]]));
  expect(listed[0]?.text()).toBe("é".repeat(65_536));
});

test("without a P nothing is listed", async () => {
  expect(await documentsOf(null)).toEqual({ listed: [], left: 0 });
});

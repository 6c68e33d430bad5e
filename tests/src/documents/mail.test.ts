import { expect, test } from "vitest";
import { convert } from "../../../src/documents/convert.ts";

async function dateOf(written: string): Promise<string | undefined> {
  const bytes = Buffer.from(`From: a@example.org\r\nDate: ${written}\r\n\r\nwords\r\n`);
  const job = { name: "a.eml", kind: "eml", plain: [], room: 1000, decoding: { bad: "none" } } as const;
  const { texts } = await convert(bytes, job, () => {});
  return /^Date: (.*)$/m.exec(Buffer.from(texts[0]?.text ?? "").toString())?.[1];
}

test.each([
  ["Mon, 1 Jan 2024 00:30:00 +0200", "2024-01-01T00:30:00.000+02:00"],
  ["Sun, 31 Dec 2023 20:15:10 -0330 (NST)", "2023-12-31T20:15:10.000-03:30"],
  ["Mon, 1 Jan 2024 10:00:00 +0000", "2024-01-01T10:00:00.000Z"],
  ["Mon, 1 Jan 2024 10:00:00 GMT", "2024-01-01T10:00:00.000Z"],
])("a mail of %s has the day and time of its sender", async (written, shown) => {
  expect(await dateOf(written)).toBe(shown);
});

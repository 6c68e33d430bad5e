import { expect, test } from "vitest";
import { openSession } from "../../../src/index.ts";

const WARNING = "number_rounded: 1234567890123456800, which is 1234567890123456789 in P";

test("a figure that JavaScript has rounded is told in every text of a cell, if P has its digits", async () => {
  await using session = await openSession();
  await session.load({ name: "rows", text: '{"id": 1234567890123456789, "exact": 9007199254740994}' });
  await session.exec("var row = JSON.parse(P)");
  const told = [
    'print("user " + row.id)',
    "print(JSON.stringify(row))",
    '"user " + row.id',
    "console.table([row])",
    "answer(row.id)",
    "find(String(row.id))",
    'throw new Error("no " + row.id)',
    'try { await llm_query("about " + row.id) } catch {}',
  ];
  for (const code of told) expect([code, (await session.exec(code)).warnings]).toEqual([code, [WARNING]]);
  const plain = await session.exec('print(P, String(row.exact), "1234567890123456999"); "12345678901234567"');
  expect(plain.warnings).toEqual([]);
});

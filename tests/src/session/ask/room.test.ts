import fc from "fast-check";
import { expect, test } from "vitest";
import { costOf } from "../../../../src/models/usage.ts";
import { roomFor, roomOnceSettled } from "../../../../src/session/ask/step.ts";

type Room = ReturnType<typeof roomFor>;

const PRICE = { input: 1, output: 4 };
/** What is left: tokens, and dollars if they are limited. */
const left = (remaining_tokens: number, remaining_cost_usd?: number) => ({
  remaining_tokens,
  remaining_sub_calls: 10,
  remaining_time_ms: 1000,
  ...(remaining_cost_usd === undefined ? {} : { remaining_cost_usd }),
});
const turnOf = (turnTokens: number, closingTokens: number, scarce: Room["scarce"] = "tokens"): Room => ({
  ...{ room: "turn", scarce, turnTokens, closingTokens },
});
const closingBy = (scarce: Room["scarce"]): Room => ({
  ...{ room: "closing", scarce, turnTokens: 0, closingTokens: 3000 },
});
const noneBy = (scarce: Room["scarce"]): Room => ({ room: "none", scarce, turnTokens: 0, closingTokens: 0 });
const CLOSING = closingBy("tokens");
const NONE = noneBy("tokens");

test.each<readonly [string, Parameters<typeof roomFor>, Room]>([
  ["tokens for many turns", [1000, 16_000, left(500_000), PRICE], turnOf(16_000, 16_000)],
  ["tokens for a short turn and the closing one", [1000, 16_000, left(10_000), PRICE], turnOf(3488, 9000)],
  ["tokens for the closing turn alone", [1000, 16_000, left(4000), PRICE], CLOSING],
  ["too few tokens", [1000, 16_000, left(1100), PRICE], NONE],
  [
    "dollars for a short turn, tokens for many",
    [1000, 16_000, left(500_000, 0.04), PRICE],
    turnOf(3488, 9000, "cost_usd"),
  ],
  ["dollars for the closing turn alone", [1000, 16_000, left(500_000, 0.016), PRICE], closingBy("cost_usd")],
  ["too few dollars", [1000, 16_000, left(500_000, 0.004), PRICE], noneBy("cost_usd")],
  ["few dollars, a free model", [1000, 16_000, left(500_000, 0.001), { input: 0, output: 0 }], turnOf(16_000, 16_000)],
  ["few tokens, for turns of fewer still", [100, 300, left(2000), null], turnOf(300, 300)],
])("what is left has room: %s", (_, given, room) => {
  expect(roomFor(...given)).toEqual(room);
});

test("a turn that there is room for costs no more than is left, and leaves enough for the closing one", () => {
  const prices = fc.record({ input: fc.nat(20), output: fc.nat(100) });
  const most = fc.integer({ min: 1024, max: 32_000 });
  fc.assert(
    fc.property(fc.nat(50_000), most, fc.nat(300_000), fc.nat(1000), prices, (input, turn, tokens, cents, price) => {
      const dollars = cents / 100;
      const { room, turnTokens, closingTokens } = roomFor(input, turn, left(tokens, dollars), price);
      if (room === "none") return;
      const taken = room === "turn" ? turnTokens : closingTokens;
      const cost = costOf(price, input, taken);
      expect(input + taken).toBeLessThanOrEqual(tokens);
      expect(cost).toBeLessThanOrEqual(dollars);
      if (room === "closing") return;
      const after = roomFor(input + turnTokens, turn, left(tokens - input - turnTokens, dollars - cost), price);
      expect(after.room).not.toBe("none");
    }),
    { numRuns: 500 },
  );
});

test("what requests of others hold is waited for before an ask is closed", async () => {
  const amounts = [2000, 3000, 90_000, 0];
  const room = () => roomFor(1000, 16_000, left(amounts[0] ?? 0), null);
  const more = async () => amounts.shift() !== undefined;
  expect(await roomOnceSettled(room, more)).toMatchObject({ room: "turn", turnTokens: 16_000 });
  expect(amounts).toEqual([90_000, 0]);
  expect(
    await roomOnceSettled(
      () => CLOSING,
      async () => false,
    ),
  ).toBe(CLOSING);
});

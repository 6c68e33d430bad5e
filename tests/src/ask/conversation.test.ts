import fc from "fast-check";
import { expect, test } from "vitest";
import { conversationOf, sizesOf } from "../../../src/ask/conversation.ts";
import { elided } from "../../../src/ask/elide.ts";
import type { Round } from "../../../src/ask/rounds.ts";
import type { ModelMessage } from "../../../src/model/index.ts";

const user = (text: string): ModelMessage => ({ role: "user", text });
const tool = (id: string, text: string): ModelMessage => ({
  role: "tool",
  use: { id, name: "rlm_exec" },
  text,
  isError: false,
});
const reply = (text: string) => ({ text, toolUses: [], stop: "end" as const, raw: null });

function round(turn: number, messages: readonly ModelMessage[], ok: boolean): Round {
  const outcome = ok ? { ok, reply: reply(`reply ${turn}`) } : { ok, code: "timeout", message: "" };
  return { turn, closing: false, protocol: "tools", messages, elide: [], outcome, cells: [] };
}

const roundsArbitrary = fc
  .array(fc.record({ units: fc.integer({ min: 0, max: 2000 }), ok: fc.boolean() }), { minLength: 1, maxLength: 12 })
  .map((turns) => turns.map(({ units, ok }, at) => round(at + 1, [tool(`${at}`, "x".repeat(units))], ok)));

test("the messages of a request begin those of the next one", () => {
  fc.assert(
    fc.property(roundsArbitrary, (rounds) => {
      const requests = rounds.map(({ messages }, at) => conversationOf(rounds.slice(0, at), messages, []));
      for (const [at, request] of requests.slice(1).entries()) {
        expect(request.slice(0, requests[at]?.length)).toEqual(requests[at]);
      }
    }),
  );
});

test("a conversation that is too long loses its oldest observations until half is left, and keeps the question", () => {
  fc.assert(
    fc.property(roundsArbitrary, fc.integer({ min: 500, max: 8000 }), (rounds, most) => {
      const added = [user("next")];
      const sizes = sizesOf(rounds, rounds.length + 1, added);
      const units = (elide: readonly number[]) =>
        conversationOf(rounds, added, elide).reduce(
          (total, message) =>
            total + (message.role === "assistant" ? message.answer.text.length + 2 : message.text.length),
          0,
        );
      const gone = elided(sizes, [], most);
      if (units([]) <= most) expect(gone).toEqual([]);
      else {
        expect(gone).toEqual(Array.from(gone, (_, at) => at + 2));
        const isSmall = units(gone) <= most / 2;
        const areAllGone = gone.length === rounds.length || gone.length === sizes.length - 1;
        expect(isSmall || areAllGone).toBe(true);
        expect(gone).not.toContain(1);
      }
    }),
  );
});

test("what was left out stays left out, and the rest follows only when the limit is passed again", () => {
  const rounds = Array.from({ length: 6 }, (_, at) => round(at + 1, [tool(`${at}`, "x".repeat(1000))], true));
  const first = elided(sizesOf(rounds, 7, []), [], 5000);
  expect(first).toEqual([2, 3, 4, 5, 6]);
  expect(elided(sizesOf(rounds, 7, []), first, 5000)).toBe(first);
});

test("an observation that is left out keeps its beginning and says that variables stay", () => {
  const rounds = [round(1, [user("q")], true), round(2, [tool("1", `begin${"x".repeat(900)}`)], true)];
  const [, , message] = conversationOf(rounds, [], [2]);
  expect(message).toMatchObject({ role: "tool", text: expect.stringMatching(/^beginx{195}\n\[… left out; variables/) });
});

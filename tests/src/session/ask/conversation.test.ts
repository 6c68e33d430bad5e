import fc from "fast-check";
import { expect, test } from "vitest";
import type { ModelMessage } from "../../../../src/models/index.ts";
import { conversationOf, elided, halved, saidIn, unitsOfMessage } from "../../../../src/session/ask/messages.ts";
import type { AddedMessage, Round } from "../../../../src/session/ask/records.ts";

const user = (text: string): AddedMessage => ({ role: "user", text });
const tool = (id: string, text: string): AddedMessage => ({
  ...{ role: "tool", use: { id, name: "rlm_exec" }, text, isError: false },
});
const reply = (text: string) => ({
  text,
  toolUses: [],
  stop: "end" as const,
  raw: null,
  read: { text, cells: [], doubt: null },
});

function round(turn: number, messages: readonly AddedMessage[], ok: boolean): Round {
  const outcome = ok ? { ok, reply: reply(`reply ${turn}`) } : { ok, code: "timeout", message: "" };
  return { turn, closing: false, protocol: "tools", messages, elide: [], outcome, cells: [] };
}

const roundsArbitrary = fc
  .array(fc.record({ units: fc.integer({ min: 0, max: 2000 }), ok: fc.boolean() }), { minLength: 1, maxLength: 12 })
  .map((turns) => turns.map(({ units, ok }, at) => round(at + 1, [tool(`${at}`, "x".repeat(units))], ok)));

/** All that is said before a turn that adds this. */
const next = (rounds: readonly Round[], ...messages: readonly AddedMessage[]) => ({
  turn: (rounds.at(-1)?.turn ?? 0) + 1,
  messages,
});
const unitsOf = (messages: readonly ModelMessage[]) =>
  messages.reduce((total, message) => total + unitsOfMessage(message), 0);

test("the messages of a request begin those of the next one", () => {
  fc.assert(
    fc.property(roundsArbitrary, (rounds) => {
      const requests = rounds.map((added, at) => conversationOf(rounds.slice(0, at), added, []));
      for (const [at, request] of requests.slice(1).entries()) {
        expect(request.slice(0, requests[at]?.length)).toEqual(requests[at]);
      }
    }),
  );
});

test("a conversation that is too long loses its oldest observations until half is left, never the question or the end", () => {
  fc.assert(
    fc.property(roundsArbitrary, fc.integer({ min: 500, max: 8000 }), (rounds, most) => {
      const added = next(rounds, user("next".repeat(300)));
      const units = (elide: readonly number[]) => unitsOf(conversationOf(rounds, added, elide));
      const gone = elided(saidIn(rounds, added), [], most);
      if (units([]) <= most) expect(gone).toEqual([]);
      else {
        expect(gone).toEqual(Array.from(gone, (_, at) => at + 2));
        const areAllGone = gone.length === rounds.length - 1;
        expect(units(gone) <= most / 2 || areAllGone).toBe(true);
        expect(gone).not.toContain(1);
        expect(conversationOf(rounds, added, gone).at(-1)).toEqual(added.messages[0]);
      }
    }),
  );
});

test("a request that was refused as too long is halved", () => {
  const rounds = Array.from({ length: 6 }, (_, at) => round(at + 1, [tool(`${at}`, "x".repeat(1000))], true));
  const added = next(rounds, user("next"));
  const whole = unitsOf(conversationOf(rounds, added, []));
  const gone = halved(saidIn(rounds, added), []);
  expect(unitsOf(conversationOf(rounds, added, gone))).toBeLessThanOrEqual(whole / 2);
  expect(unitsOf(conversationOf(rounds, added, gone.slice(0, -1)))).toBeGreaterThan(whole / 2);
});

test("the question stays whole, also if its turn was asked twice", () => {
  const question = user("q".repeat(1000));
  const refused: Round = { ...round(1, [question], false), outcome: { ok: false, code: "tools_refused", message: "" } };
  const rounds = [refused, round(1, [], true), round(2, [user("x".repeat(5000))], true)];
  const said = saidIn(rounds, next(rounds, user("next")));
  expect(elided(said, [], 100)).toEqual([2]);
  expect(conversationOf(rounds, next(rounds), [1, 2])[0]).toEqual(question);
});

test("what was left out stays left out, and the rest follows only when the limit is passed again", () => {
  const rounds = Array.from({ length: 6 }, (_, at) => round(at + 1, [tool(`${at}`, "x".repeat(1000))], true));
  const first = elided(saidIn(rounds, next(rounds, user("next"))), [], 5000);
  expect(first).toEqual([2, 3, 4, 5, 6]);
  expect(elided(saidIn(rounds, next(rounds, user("next"))), first, 5000)).toBe(first);
});

test("an observation that is left out keeps its beginning and says that variables stay", () => {
  const rounds = [round(1, [user("q")], true), round(2, [tool("1", `begin${"x".repeat(900)}`)], true)];
  const [, , message] = conversationOf(rounds, next(rounds, user("next")), [2]);
  expect(message).toMatchObject({ role: "tool", text: expect.stringMatching(/^beginx{195}\n\[… left out; variables/) });
});

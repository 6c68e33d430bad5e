import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type HistoryMessage, historyContext, objectId } from "../../../src/context/index.ts";
import type { ToolCall } from "../../../src/tools/define.ts";
import type { ConversationObjects, ToolEnvelope } from "../../../src/tools/index.ts";
import { tools } from "../../../src/tools/pi-tools.ts";

const never = new AbortController().signal;

/** Calls tools over a conversation, in which nothing can be opened. */
function callsOver(objects: ConversationObjects, signal = never) {
  const history = () => Promise.reject(new Error("no cell is run"));
  const allowed = () => Promise.reject(new Error("nobody was to be asked"));
  const conversation = { objects: async () => objects, history, allowed, stats: async () => ({ window: 1 }) };
  const call: ToolCall = { cwd: "/", signal, suspend: never, conversation };
  return (name: string, args: unknown): Promise<ToolEnvelope> => {
    const tool = tools.find((known) => known.name === name);
    if (!tool) throw new Error(`no tool ${name}`);
    return tool.run(() => Promise.reject(new Error("a session was opened")), args, call);
  };
}

/** The text of a successful answer: its first line, and what stands under it. */
function textIn({ success, text }: ToolEnvelope): { readonly facts: string; readonly rest: string } {
  if (!success || typeof text !== "string") throw new Error("no text was answered");
  const end = text.indexOf("\n");
  return end < 0 ? { facts: text, rest: "" } : { facts: text.slice(0, end), rest: text.slice(end + 1) };
}

async function objectsOf(
  texts: readonly string[],
  more: Partial<ConversationObjects & { readonly P: readonly string[] }> = {},
): Promise<ConversationObjects> {
  const messages = (all: readonly string[]) => all.map((text): HistoryMessage => said("user", text));
  const history = await historyContext(messages(texts), noPause);
  const { P, own = null, problem = null } = more;
  const loaded = P && (await historyContext(messages(P), noPause));
  return {
    sources: [{ of: "history", context: history }, ...(loaded ? [{ of: "P" as const, context: loaded }] : [])],
    own,
    problem,
  };
}

function said(role: string, text: string, tool: string | null = null): HistoryMessage {
  return { role, tool, text, calls: [], images: [] };
}

describe("rlm_peek", () => {
  test("answers a line of facts and then the characters as they are", async () => {
    const call = callsOver(await objectsOf(["zero", 'say "hi"\n\ttwice\n']));
    const id = objectId('say "hi"\n\ttwice\n');
    expect(await call("rlm_peek", { id })).toEqual({
      success: true,
      text: `${id} · history/0002-user · characters 0 to 16 of 16\nsay "hi"\n\ttwice\n`,
    });
    expect(await call("rlm_peek", { id: id.slice(8, 14), offset: 4, length: 4 })).toEqual({
      success: true,
      text: `${id} · history/0002-user · characters 4 to 8 of 16 · next offset 8\n"hi"`,
    });
    const seen = textIn(await call("rlm_peek", { id: "history/0001-user", offset: 99 }));
    expect(seen).toEqual({ facts: `${objectId("zero")} · history/0001-user · characters 4 to 4 of 4`, rest: "" });
  });

  test("whoever reads on at the next offset gets the whole text, and no answer is larger than Pi takes", async () => {
    const unit = fc.constantFrom("a", "é", "字", "\u{1f600}", "\n");
    const texts = fc.tuple(fc.string({ unit, minLength: 1, maxLength: 30 }), fc.constantFrom(1, 3_000));
    await fc.assert(
      fc.asyncProperty(texts, fc.integer({ min: 1, max: 100_000 }), async ([some, times], length) => {
        const whole = some.repeat(times);
        const call = callsOver(await objectsOf([whole]));
        const step = Math.max(length, Math.ceil(whole.length / 20));
        let read = "";
        for (let offset: number | undefined = 0; offset !== undefined; ) {
          const answer = await call("rlm_peek", { id: objectId(whole), offset, length: step });
          const { facts, rest } = textIn(answer);
          expect(Buffer.byteLength(`${facts}\n${rest}`)).toBeLessThan(51_200);
          read += rest;
          const next = /next offset (\d+)$/.exec(facts)?.[1];
          offset = next === undefined ? undefined : Number(next);
        }
        expect(read).toBe(whole);
      }),
      { numRuns: 15 },
    );
  });

  test("an offset inside a surrogate pair begins at the character", async () => {
    const call = callsOver(await objectsOf(["a\u{1f600}b"]));
    const answer = textIn(await call("rlm_peek", { id: "history/0001-user", offset: 2, length: 1 }));
    expect(answer.rest).toBe("\u{1f600}");
    expect(answer.facts).toMatch(/characters 1 to 3 of 4 · next offset 3$/);
  });

  test("what is not there is refused, and a P that cannot be read is named as the reason", async () => {
    const call = callsOver(await objectsOf(["a"]));
    expect(await call("rlm_peek", { id: "rlm-obj-123456" })).toMatchObject({
      success: false,
      error_code: "object_not_found",
      suggestion: "Find it with rlm_search.",
    });
    const lost = callsOver(await objectsOf(["a"], { problem: "context_lost: it is damaged" }));
    expect(await lost("rlm_peek", { id: "b.txt" })).toMatchObject({
      error_message: "object b.txt not found on this branch; P cannot be read: context_lost: it is damaged",
    });
    expect(await call("rlm_peek", { id: "a", offset: -1 })).toMatchObject({ error_code: "invalid_argument" });
  });
});

describe("rlm_search", () => {
  test("finds text in any case in history and in P, with the object, the offset and what stands around", async () => {
    const long = `${"x".repeat(80)} the Retry\npolicy ${"y".repeat(80)}`;
    const call = callsOver(await objectsOf([long, "nothing"], { P: ["a retry b RETRY"] }));
    expect(await call("rlm_search", { pattern: "retry" })).toEqual({
      success: true,
      text: [
        "3 hits in 2 objects for retry",
        `${objectId(long)} history/0001-user`,
        `  85: …${"x".repeat(45)} the Retry policy ${"y".repeat(37)}…`,
        `${objectId("a retry b RETRY")} P: history/0001-user`,
        "  2: a retry b RETRY",
        "  10: a retry b RETRY",
      ].join("\n"),
    });
    expect(textIn(await call("rlm_search", { pattern: "a.b" })).facts).toBe("no hits for a.b");
  });

  test("a pattern between slashes is one of find's, and ends with the document; other slashes are text", async () => {
    const call = callsOver(await objectsOf(["one\nTwo", "in /usr/bin/x"]));
    expect(textIn(await call("rlm_search", { pattern: "/^two$/im" })).rest).toContain("  4: one Two");
    expect(textIn(await call("rlm_search", { pattern: "/o[\\s\\S]*/" })).facts).toMatch(/^1 hit in 1 object/);
    expect(textIn(await call("rlm_search", { pattern: "/usr/bin" })).facts).toMatch(/^1 hit in 1 object /);
    expect(await call("rlm_search", { pattern: "/(?=a)/" })).toMatchObject({
      error_code: "invalid_argument",
      error_message: "rlm_search: (?= at index 0 is not supported (linear-time matching)",
    });
    expect(await call("rlm_search", { pattern: "/(/" })).toMatchObject({ error_code: "invalid_argument" });
    expect(await call("rlm_search", { pattern: "" })).toMatchObject({ error_code: "invalid_argument" });
  });

  test("shows 50 hits and counts all of them, on lines of bounded length", async () => {
    const many = "é字 ".repeat(20_000);
    const call = callsOver(await objectsOf([many]));
    const { facts, rest } = textIn(await call("rlm_search", { pattern: "/字/" }));
    expect(facts).toBe("10000 or more hits in 1 object for /字/, the first 50 are shown");
    expect(rest.split("\n")).toHaveLength(51);
    const whole = textIn(await call("rlm_search", { pattern: "/[\\s\\S]+/" }));
    expect(whole.rest.length).toBeLessThan(300);
  });

  test("scope names the objects that are searched", async () => {
    const call = callsOver(await objectsOf(["fact one", "fact two", "fact three"]));
    const scope = [objectId("fact two"), "history/0003-user"];
    expect(textIn(await call("rlm_search", { pattern: "fact", scope })).facts).toBe("2 hits in 2 objects for fact");
    expect(await call("rlm_search", { pattern: "fact", scope: ["rlm-obj-000000"] })).toMatchObject({
      error_code: "object_not_found",
    });
  });

  test("leaves out the call itself and what it and rlm_peek answered before, unless scope names them", async () => {
    const messages = [said("user", "fact"), said("toolResult", "fact", "rlm_search"), said("assistant", "fact")];
    const context = await historyContext(messages, noPause);
    const sources = [{ of: "history", context }] as const;
    const call = callsOver({ sources, own: "history/0003-assistant", problem: "store_failed: no store" });
    expect(textIn(await call("rlm_search", { pattern: "fact" })).facts).toBe(
      "1 hit in 1 object for fact · P cannot be searched: store_failed: no store",
    );
    const scope = ["history/0002-rlm_search"];
    expect(textIn(await call("rlm_search", { pattern: "fact", scope })).facts).toMatch(/^1 hit in 1 object /);
  });

  test("a cancelled search says so", async () => {
    const call = callsOver(await objectsOf(["a"]), AbortSignal.abort());
    expect(await call("rlm_search", { pattern: "a" })).toMatchObject({ success: false, error_code: "cancelled" });
  });
});

test("without a conversation the tools say that there is none", async () => {
  const call = { cwd: "/", signal: never, suspend: never };
  for (const [name, args] of [
    ["rlm_peek", { id: "rlm-obj-123456" }],
    ["rlm_search", { pattern: "a" }],
    ["rlm_stats", {}],
  ] as const) {
    const tool = tools.find((known) => known.name === name);
    const answer = await tool?.run(() => Promise.reject(new Error("opened")), args, call);
    expect(answer).toMatchObject({ success: false, error_code: "context_not_loaded" });
  }
});

async function noPause(): Promise<void> {}

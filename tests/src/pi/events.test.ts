import { expect, test } from "vitest";
import { announcementsOn } from "../../../src/pi/events.ts";
import { readTurns, talk } from "../../support/pi/conversation.ts";
import { following } from "../../support/pi/following.ts";
import { startedPi } from "./fake-pi.ts";

test("other extensions are told of each epoch, whoever asked for it", () => {
  const self = talk({ window: 1_000_000 });
  readTurns(self, 14);
  self.user("and now?");
  const { outside, announced } = following(self);
  outside.sent(self.messages());
  expect(announced).toEqual([{ epoch: 1, objects: expect.any(Number), tokens: expect.any(Number) }]);
  const [{ objects, tokens } = { objects: 0, tokens: 0 }] = announced;
  expect(objects).toBeGreaterThan(3);
  expect(tokens).toBeGreaterThan(1000);
  outside.sent(self.messages());
  expect(announced).toHaveLength(1);
  outside.asked.externalize();
  expect(announced).toMatchObject([{ epoch: 1 }, { epoch: 2 }]);
});

test("they are told when a tool that asks models begins and ends, and of no other", async () => {
  const { pi, life } = await startedPi();
  await life.call("rlm_load", { path: pi.folder });
  expect(pi.announced).toEqual([]);
  await life.call("rlm_query", { prompt: "beta?", search_strategy: "nonsense" }, "call");
  const query = { tool: "rlm_query", tool_call_id: "call" };
  const end = { success: false, error_code: "invalid_argument", sub_calls: 0, tokens: 0, cost_usd: 0 };
  expect(pi.announced).toEqual([
    ["rlm:query:start", query],
    ["rlm:query:end", { ...query, ...end, elapsed_ms: expect.any(Number) }],
  ]);
  await life.leave();
});

test("a listener that fails ends nothing of ours", () => {
  const announced = announcementsOn({
    emit() {
      throw new Error("not my day");
    },
  });
  expect(() => announced.epoch({ epoch: 1, objects: 1, tokens: 1 })).not.toThrow();
});

import { expect, test } from "vitest";
import { rememberedIds } from "../../../../src/pi/externalize/keys.ts";
import { overviewOf, type SaidObject } from "../../../../src/pi/externalize/overview.ts";
import { readTurns, type Talk, talk } from "../../../support/pi/conversation.ts";
import { following, WISH } from "../../../support/pi/following.ts";

const seen = (self: Talk) => overviewOf(self.branch, rememberedIds());
const states = ({ objects }: { objects: readonly SaidObject[] }) => objects.map(({ is }) => is).join(" ");

test("every text of the branch is an object, with what is sent of it", () => {
  const self = talk({ window: 1_000_000 });
  readTurns(self, 3);
  expect(states(seen(self))).toBe("in in in in in in in in in in in in");
  following(self).outside.asked.externalize();
  const { objects, epochs, isOff, compactions } = seen(self);
  expect(states({ objects })).toBe("in in out in in in in in in in in in");
  expect(objects[2]).toEqual({
    ...{ id: expect.stringMatching(/^rlm-obj-[0-9a-f]{12}$/), kind: "file", tokens: 750, is: "out" },
    ...{ description: "read call_0.txt — 58 lines", text: expect.any(Function) },
  });
  expect(objects[2]?.text()).toMatch(/^call_0: the quick/);
  expect(epochs).toMatchObject([{ epoch: 1, cause: "manual", objects: 1, at: null }]);
  expect([isOff, compactions]).toEqual([false, []]);
});

test("what was folded, and what a compaction took away, is still an object", () => {
  const self = talk({ window: 1_000_000 });
  readTurns(self, 4);
  const { compaction } = following(self).outside.compacts(WISH);
  self.branch.push({ type: "compaction", ...compaction });
  const all = seen(self);
  expect(states(all)).toBe("folded folded folded folded folded folded folded folded in in in in in in in in");
  expect(all.compactions).toEqual([{ by: "belay", before: 7500, at: null }]);
  const long = talk();
  readTurns(long, 60, 200);
  expect(states(seen(long))).toMatch(/^(folded ){20,}(out |in )+/);
});

test("after /rlm off texts that are sent whole again are not outside", () => {
  const self = talk({ window: 1_000_000 });
  readTurns(self, 3);
  const { asked } = following(self).outside;
  asked.externalize();
  asked.switched(true);
  expect([states(asked.overview()).includes("out"), asked.overview().isOff]).toEqual([false, true]);
  expect(states(following(self, { window: 2000 }).outside.asked.overview())).toContain("out");
});

test("after clear everything is sent again, and no epoch counts", () => {
  const self = talk({ window: 1_000_000 });
  readTurns(self, 3);
  const { asked } = following(self).outside;
  asked.externalize();
  asked.clear();
  expect([states(seen(self)).includes("out"), seen(self).epochs]).toEqual([false, []]);
});

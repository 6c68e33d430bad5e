import { readBranch } from "../../../src/pi/branch/entries.ts";
import { historyMessage, messagesOn } from "../../../src/pi/branch/messages.ts";
import { nextMessages, readOutside } from "../../../src/pi/externalize/branch.ts";
import { knownOf } from "../../../src/pi/read-cache/happened.ts";
import { metaIn, refreshIn } from "../../../src/pi/read-cache/meta.ts";
import { called, filler, said, talk } from "../../../tests/support/pi/conversation.ts";
import { below, distorted, mutated, type Random } from "../mutate.ts";
import type { OpenSurface } from "../surface.ts";

/** Files of Pi's sessions: whatever stands in them, what reads a branch does not fail, and what is sent of it is a list. */
export const openBranches: OpenSurface = async () => {
  const lines = fileOf();
  return {
    async play(random) {
      const branch = changed(random, lines);
      try {
        readBranch(branch, (tool) => tool.startsWith("rlm_"));
        for (const message of messagesOn(branch)) historyMessage(message);
        const next = nextMessages(branch);
        readOutside(branch);
        for (const entry of branch) {
          metaIn(Object(entry.message).details);
          refreshIn(entry.data);
        }
        knownOf([]);
        const talks = talk();
        talks.branch.push(...branch);
        talks.request();
        return Array.isArray(next) ? null : "what is sent is not a list";
      } catch (error) {
        return `${error instanceof Error ? error.stack : error}\n${JSON.stringify(branch).slice(0, 300)}`;
      }
    },
    async [Symbol.asyncDispose]() {},
  };
};

/** A session of Pi with our entries, one line each. */
function fileOf(): string[] {
  const self = talk();
  for (let turn = 0; turn < 12; turn += 1) {
    self.user(`question ${turn}`);
    self.answer(said("look"), called(`r${turn}`));
    self.result(`r${turn}`, filler(`file ${turn}`, 4000));
    self.request();
  }
  const ids = { tool_call_id: "r1", session: "s", exec_id: "x", kind: "exec" };
  self.branch.push(
    { type: "custom", id: "c1", customType: "rlm_start", data: { ...ids, parent: null } },
    {
      type: "custom",
      id: "c2",
      customType: "rlm_complete",
      data: { ...ids, success: true, error_code: null, checkpoint: "c", context_hash: null, context_key: null },
    },
    { type: "compaction", id: "c3", summary: "so far", firstKeptEntryId: "e9", tokensBefore: 100, details: {} },
  );
  return self.branch.map((entry) => JSON.stringify(entry));
}

/** Some lines are distorted as JSON, and some as bytes; Pi drops what is not JSON. */
function changed(random: Random, lines: readonly string[]) {
  return lines.flatMap((line) => {
    const choice = below(random, 8);
    const text =
      choice === 0
        ? JSON.stringify(distorted(random, JSON.parse(line)))
        : choice === 1
          ? Buffer.from(mutated(random, Buffer.from(line))).toString()
          : line;
    try {
      const entry = JSON.parse(text);
      return typeof entry === "object" && entry !== null && typeof entry.type === "string" ? [entry] : [];
    } catch {
      return [];
    }
  });
}

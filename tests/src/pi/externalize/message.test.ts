import { expect, test } from "vitest";
import { objectId } from "../../../../src/context/index.ts";
import { applyOutside } from "../../../../src/pi/externalize/apply.ts";
import { readOutside } from "../../../../src/pi/externalize/branch.ts";
import { findCopies, messagesOf, type PiMessage } from "../../../../src/pi/externalize/message.ts";

import { called, filler, readTurns, said, type Talk, talk } from "../../../support/pi/conversation.ts";

const IMAGE = { type: "image", data: "iVBOR", mimeType: "image/png" };

/** A conversation of which texts went out, and how the copies of a request are sent. */
function stubbedTalk() {
  const self = talk({ window: 20_000 });
  self.user("Look at the picture.");
  self.answer(called("picture"));
  self.push({ role: "toolResult", toolCallId: "picture", content: [said(filler("picture", 3000)), IMAGE] });
  self.answer(said("It shows a fox."));
  readTurns(self, 18);
  const outside = readOutside(self.branch);
  expect(outside.fold).toBeNull();
  const hashed: string[] = [];
  const ids: Talk["ids"] = {
    idOf(key, text) {
      hashed.push(key);
      return objectId(text);
    },
  };
  const send = (messages: readonly PiMessage[]) => {
    findCopies(messages, messagesOf(self.branch));
    return applyOutside(messages, outside, ids);
  };
  return { self, hashed, send };
}

test("nothing is computed again for the copies of the next request, and they are sent alike", () => {
  const { self, hashed, send } = stubbedTalk();
  const first = send(self.messages());
  expect(hashed.length).toBeGreaterThan(5);
  hashed.length = 0;
  expect(send(self.messages())).toEqual(first);
  expect(hashed).toEqual([]);
});

test("a message that another extension has changed is no copy: its stub names the text that it has now", () => {
  const { self, send } = stubbedTalk();
  const [before, changed] = [self.messages(), filler("changed", 3000)];
  send(before);
  const at = before.findIndex(({ role }) => role === "toolResult");
  const sent = send(self.messages().map((one, n) => (n === at ? { ...one, content: [said(changed)] } : one)));
  expect(JSON.stringify(sent[at])).toContain(objectId(changed));
});

test("stubs are made of the copies, so that nothing that is sent is part of the branch", () => {
  const { self, send } = stubbedTalk();
  const branch = structuredClone(self.branch);
  const sent = send(self.messages());
  expect(sent.map(({ content }) => content)).toContainEqual([said(expect.stringContaining("[RLM ext")), IMAGE]);
  for (const { content } of sent) for (const block of [content].flat()) Object.assign(Object(block), { data: "gone" });
  expect(self.branch).toEqual(branch);
});

import { join } from "node:path";
import { expect, test } from "vitest";
import { openAskModels } from "../../../../src/session/contexts/granted.ts";
import { openSigner } from "../../../../src/settings/signed-settings.ts";
import { folderWith } from "../../../support/tree.ts";

const ASKED = { model: "openai/dear", sub_model: "openai/small" };

/** Somebody with a key of their own, at this store. */
const person = (store: string) => openSigner(store, { XDG_CONFIG_HOME: folderWith() });
const opened = (signer: ReturnType<typeof openSigner> | null, options: { model?: string; baseUrl?: string } = {}) =>
  openAskModels(options, { hasAll: false, signer });

test("models that the opener does not name are foreign, and so are those that another user has signed", () => {
  const store = folderWith();
  const [author, victim] = [person(store), person(store)];
  const signed = opened(author).sign(ASKED);
  expect(opened(author).foreign(ASKED, signed)).toBeNull();
  for (const given of [signed, null, "x", { ...ASKED }]) {
    expect(opened(victim).foreign(ASKED, given)).toBe("openai/dear");
    expect(opened(null).foreign(ASKED, given)).toBe("openai/dear");
  }
  expect(opened(victim, { model: "openai/dear" }).foreign(ASKED, signed)).toBe("openai/small");
});

test("a signature counts for its own models, at its own place", () => {
  const folder = folderWith({ "store/": "", "moved/": "" });
  const env = { XDG_CONFIG_HOME: folder };
  const here = opened(openSigner(join(folder, "store"), env));
  const signed = here.sign({ model: "openai/cheap", sub_model: "openai/cheap" });
  const anew = opened(openSigner(join(folder, "store"), env));
  expect(anew.foreign(ASKED, signed)).toBe("openai/dear");
  expect(anew.foreign(ASKED, { ...Object(signed), ...ASKED })).toBe("openai/dear");
  const moved = opened(openSigner(join(folder, "moved"), env));
  expect(moved.foreign(ASKED, here.sign(ASKED))).toBe("openai/dear");
});

test("what the opener has is not foreign: its model, any at its server, all of a registry, those of this process", () => {
  const same = { model: "openai/dear", sub_model: "openai/dear" };
  expect(opened(null, { model: "openai/dear" }).foreign(same, null)).toBeNull();
  expect(opened(null, { baseUrl: "http://127.0.0.1/v1" }).foreign(ASKED, null)).toBeNull();
  expect(openAskModels({}, { hasAll: true, signer: null }).foreign(ASKED, null)).toBeNull();
  const running = opened(null);
  running.sign(ASKED);
  expect(running.foreign(ASKED, null)).toBeNull();
});

import * as entry from "belay-pi-ai";
import { expect, test } from "vitest";
import { loadPiAi } from "../../../../src/model/pi-ai/load.ts";

test("what is loaded past pi-ai's entry is what the entry gives", () => {
  const { streamSimple, getModels, getProviders, findEnvKeys } = loadPiAi();
  expect(streamSimple).toBe(entry.streamSimple);
  expect(getModels).toBe(entry.getModels);
  expect(getProviders).toBe(entry.getProviders);
  expect(findEnvKeys).toBe(entry.findEnvKeys);
});

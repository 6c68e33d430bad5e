import { renameSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Json } from "../../../runtime/index.ts";
import { openSigner } from "../../../src/settings/signed-settings.ts";
import { folderWith } from "../../support/tree.ts";

const SETTINGS: Json = { settings: { model: "a/b", roots: ["/data"] }, cwd: "/here" };

/** Two stores, and the settings of two people. */
function openPlaces() {
  const folder = folderWith({ "store/": "", "other/": "" });
  const [store, other] = [join(folder, "store"), join(folder, "other")];
  const env = { XDG_CONFIG_HOME: join(folder, "mine") };
  return { folder, store, other, env, stranger: { XDG_CONFIG_HOME: join(folder, "theirs") } };
}

test("what this user kept counts there alone: by session, store and every value", () => {
  const { folder, store, other, env, stranger } = openPlaces();
  const signer = openSigner(store, env);
  const signed = signer.sign(SETTINGS, "S1");
  expect(signer.doubt(signed, "S1")).toBeNull();
  // As the store gives them back, and through another way to the same folder.
  symlinkSync(store, join(folder, "link"));
  expect(openSigner(join(folder, "link"), env).doubt(JSON.parse(JSON.stringify(signed)), "S1")).toBeNull();
  expect(signer.doubt(signed, "S2")).toMatch(/another user recorded them, or they are those of another session/);
  const changed = { ...JSON.parse(JSON.stringify(signed)), cwd: "/there" };
  expect(signer.doubt(changed, "S1")).toMatch(/another user recorded them/);
  expect(openSigner(other, env).doubt(signed, "S1")).toBe(`the store was ${store} when they were recorded`);
  openSigner(store, stranger).sign(SETTINGS, "S1");
  expect(openSigner(store, stranger).doubt(signed, "S1")).toMatch(/another user recorded them/);
});

test("a signature that is missing, or damaged, is none", () => {
  const { store, env } = openPlaces();
  const signer = openSigner(store, env);
  signer.sign(SETTINGS, "S1");
  const unsigned =
    "they are not signed (an earlier version of Belay, another user or a run without a key recorded them)";
  for (const signature of [undefined, null, 5, [], {}, { store }, { store: 5, mac: "" }]) {
    expect(signer.doubt(JSON.parse(JSON.stringify({ ...Object(SETTINGS), signature })), "S1")).toBe(unsigned);
  }
  expect(signer.doubt({ signature: { store, mac: "" } }, "S1")).toMatch(/another user recorded them/);
  expect([null, 5, [SETTINGS]].map((settings) => signer.doubt(settings, "S1"))).toEqual([unsigned, unsigned, unsigned]);
});

test("a fork's settings are signed if its parent's were, and stay doubtful if not", () => {
  const { store, env, stranger } = openPlaces();
  const signer = openSigner(store, env);
  const passOn = signer.forFork("S2");
  expect(signer.doubt(passOn({ id: "S1", settings: signer.sign(SETTINGS, "S1") }), "S2")).toBeNull();
  const theirs = openSigner(store, stranger).sign(SETTINGS, "S1");
  for (const settings of [SETTINGS, theirs, signer.sign(SETTINGS, "S3")]) {
    expect(passOn({ id: "S1", settings })).toEqual(settings);
    expect(signer.doubt(passOn({ id: "S1", settings }), "S2")).not.toBeNull();
  }
});

test("a key that lies in the store signs nothing: whoever made the store could have made it", () => {
  const { store } = openPlaces();
  const env = { XDG_CONFIG_HOME: store };
  const key = join(store, "belay/key");
  const signer = openSigner(store, env);
  expect(signer.sign(SETTINGS, "S1")).toEqual(SETTINGS);
  expect(signer.problem()).toBe(`${key} lies in the store`);
  const elsewhere = folderWith({ "store/": "" });
  const signed = openSigner(join(elsewhere, "store"), env).sign(SETTINGS, "S1");
  renameSync(store, `${store}2`);
  expect(openSigner(`${store}2`, { XDG_CONFIG_HOME: `${store}2` }).doubt(signed, "S1")).toMatch(/lies in the store/);
});

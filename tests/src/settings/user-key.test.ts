import { chmodSync, chownSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { keyPath } from "../../../src/platform/home.ts";
import { makeUserKey, readUserKey } from "../../../src/settings/signed-settings.ts";
import { folderWith } from "../../support/tree.ts";

const HEX = "ab".repeat(32);

/** A folder with a whole key in it, of this mode. */
function keyIn(mode = 0o600): string {
  const path = join(folderWith({ key: HEX }), "key");
  chmodSync(path, mode);
  return path;
}

test("the key lies in the user's folder of settings; a relative one is ignored", () => {
  const HOME = "/home/me";
  expect(keyPath({ HOME, XDG_CONFIG_HOME: "/etc/me" })).toBe("/etc/me/belay/key");
  expect(keyPath({ HOME, XDG_CONFIG_HOME: "config" })).toBe("/home/me/.config/belay/key");
  expect(keyPath({ HOME, XDG_CONFIG_HOME: "", BELAY_HOME: "/store" })).toBe("/home/me/.config/belay/key");
});

test("a key is made when it is first needed, for its owner alone, and stays", () => {
  const folder = folderWith();
  const path = join(folder, "new/belay/key");
  expect(readUserKey(path)).toBeUndefined();
  const made = makeUserKey(path);
  expect(made).toEqual({ key: expect.any(Buffer) });
  expect([makeUserKey(path), readUserKey(path)]).toEqual([made, made]);
  expect([statSync(path).mode & 0o777, statSync(join(folder, "new/belay")).mode & 0o777]).toEqual([0o600, 0o700]);
  expect(readdirSync(join(folder, "new/belay"))).toEqual(["key"]);
  expect(makeUserKey(join(folder, "other/belay/key"))).not.toEqual(made);
});

test("a key that another user could have put there or could read does not count, and is left as it is", () => {
  expect(readUserKey(keyIn())).toEqual({ key: Buffer.from(HEX, "hex") });
  expect(makeUserKey(keyIn(0o640))).toEqual({ problem: "has mode 0640, not 0600" });
  const link = join(folderWith(), "key");
  symlinkSync(keyIn(), link);
  expect(makeUserKey(link)).toEqual({ problem: "is a symlink" });
  const short = keyIn();
  writeFileSync(short, HEX.slice(1));
  expect(makeUserKey(short)).toEqual({ problem: "does not hold a whole key" });
  expect(readFileSync(short, "utf8")).toBe(HEX.slice(1));
  expect(makeUserKey(folderWith())).toEqual({ problem: "is a folder, not a regular file" });
});

test.runIf(process.getuid?.() === 0)("a key of another user does not count", () => {
  const path = keyIn();
  chownSync(path, 12_345, 12_345);
  expect(makeUserKey(path)).toEqual({ problem: "belongs to another user" });
});

test("where no key can be made, that is said", () => {
  const file = join(folderWith({ file: "" }), "file");
  expect(makeUserKey(join(file, "belay/key"))).toEqual({ problem: expect.stringMatching(/^cannot be made \(E\w+\)$/) });
});

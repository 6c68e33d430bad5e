import { resolve } from "node:path";
import { expect, test } from "vitest";
import { hasSecret, isServer, placeOf, shownPlace } from "../../src/store-place.ts";

test("a store is named by a folder or by the URL of a server", () => {
  expect([placeOf("store"), placeOf("/a/../b")]).toEqual([resolve("store"), resolve("/b")]);
  const url = "postgres://me:secret@db.example/belay?schema=mine";
  expect([placeOf(url), isServer(url), isServer("postgresql://h/d"), isServer("./postgres:")]).toEqual([
    ...[url, true, true, false],
  ]);
});

test("no password is shown, wherever it stands in a URL", () => {
  expect(shownPlace("postgres://me:s3cret@db.example/belay")).toBe("postgres://me:***@db.example/belay");
  expect(shownPlace("postgres://me@db/x?password=s3cret&schema=a")).toBe("postgres://me@db/x?password=***&schema=a");
  expect(shownPlace("postgresql://db/x")).toBe("postgresql://db/x");
  expect(shownPlace("postgres://me:s3cret@[broken/x")).toBe("postgres://…");
  expect(shownPlace("/home/me/store")).toBe("/home/me/store");
  const secret = ["postgres://me:s3cret@db/x", "postgres://me@db/x?sslpassword=s3cret", "postgres://me@[broken/x"];
  expect(secret.map(hasSecret)).toEqual([true, true, true]);
  expect(["postgres://me@db/x?schema=a", "/home/me:s3cret@db"].map(hasSecret)).toEqual([false, false]);
});

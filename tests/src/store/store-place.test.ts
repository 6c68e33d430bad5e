import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { expect, test } from "vitest";
import {
  hasSecret,
  isServer,
  placeOf,
  readServerUrl,
  shownPlace,
  withoutPasswords,
} from "../../../src/store/store-place.ts";
import { folderWith } from "../../support/tree.ts";
import { startBelay } from "../cli/belay.ts";
import { belayHere } from "../cli/in-process.ts";

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

const MISTYPED = [
  "mysql://me:s3cret@db/x",
  "postgres:/me:s3cret@db/x",
  "postgres:me:s3cret@db",
  "postgresql+x://me:s3cret@db/x",
  "'postgres://me:s3cret@db/x'",
  '"postgres://me:s3cret@db/x"',
  "\u200bpostgres://me:s3cret@db/x",
  "jdbc:postgresql://db/x?user=me&password=s3cret",
  "me:s3cret@db/x",
  `$${"{BELAY_STORE}"}`,
];

test("a URL that names no server of ours is never a folder, and is not shown", () => {
  expect(placeOf(" postgres://me:s3cret@db/x\n")).toBe("postgres://me:s3cret@db/x");
  for (const given of MISTYPED) {
    expect(() => placeOf(given), given).toThrow(/^this is neither a folder nor a URL that begins with postgres/);
    expect([shownPlace(given), hasSecret(given)], given).toEqual(["postgres://…", true]);
  }
  for (const folder of ["./me:s3cret@db", "~/a:b@c", "C:\\a@b", "C:/a@b", "a:b"]) {
    expect([placeOf(folder), shownPlace(folder)]).toEqual([resolve(folder), folder]);
  }
});

test("no password is shown of a URL with one that is not encoded, or under a name in capitals", () => {
  for (const url of ["postgres://me:12/s3cret@db/x", "postgres://me:12#s3cret@db/x", "postgres://me:12?s3cret@db/x"]) {
    expect([shownPlace(url), hasSecret(url)]).toEqual(["postgres://…", true]);
    expect(() => readServerUrl(url)).toThrow(/%2F/);
  }
  expect(shownPlace("postgres://me@db/x?PASSWORD=s3cret")).toBe("postgres://me@db/x?PASSWORD=***");
});

test("texts lose the passwords of URLs, and nothing else", () => {
  for (const url of [...MISTYPED.slice(0, 8), "postgres://me:s3/c@ret@db", "postgres://db/x?sslPassword=s3cret"]) {
    const text = withoutPasswords(`cannot open ${url}: why`);
    expect(text).not.toMatch(/s3|ret/);
    expect(text).toMatch(/^cannot open .*: why$|^cannot open .*\*\*\*/);
  }
  for (const text of ["a.ts:3:4 me@x", "https://h:80/x and me@x", "postgres://me:***@db/x: no", "a?password=*** b"]) {
    expect(withoutPasswords(text)).toBe(text);
  }
});

test("no command shows the password of a URL, or makes a folder of it", async () => {
  const cwd = folderWith();
  for (const given of [...MISTYPED.slice(0, 5), " postgres://me:s3cret@localhost:1/x"]) {
    const ways: [string[], Record<string, string>?][] = [
      [["sessions", "--store", given]],
      [["doctor", `--store=${given}`, "--json"]],
      [["jobs", "--json"], { BELAY_STORE: given }],
      [["exec", "-e", "1", `--stor=${given}`]],
      [["show", "a", given]],
      [["mcp", "--print-config", "codex", "--store", given]],
      [["exec", "-e", "1", "-c", given]],
    ];
    for (const [args, env = {}] of given === MISTYPED[0] ? ways : ways.slice(3, 5)) {
      const { stdout, stderr } = await belayHere(args, { cwd, env });
      expect(`${stdout}${stderr}`, args.join(" ")).not.toContain("s3cret");
    }
  }
  expect(readdirSync(cwd)).toEqual([]);
  const typed = ["mcp", "--print-config", "codex", "--store"];
  const open = await belayHere([...typed, " postgres://me@db/x"], { cwd });
  expect(open.stdout).toContain('args = ["mcp","--store","postgres://me@db/x"]');
  const secret = await belayHere([...typed, "postgres://me:s3cret@db/x"], { cwd });
  expect(secret.stdout).toContain('args = ["mcp"]\nenv_vars = ["BELAY_STORE"]');
});

test.runIf(process.platform === "linux")("the list of processes shows no password either", async () => {
  const child = startBelay(["mcp", "--store", "postgres://me:s3cret@localhost:1/x"]);
  const { stdout } = child;
  if (!stdout) throw new Error("the process has no stdout");
  child.stdin?.write(`${JSON.stringify({ jsonrpc: "2.0", id: 1, ...INITIALIZE })}\n`);
  await once(stdout, "data");
  expect(readFileSync(`/proc/${child.pid}/cmdline`, "utf8").replaceAll("\0", "")).toBe("belay");
  child.stdin?.end();
  await once(child, "close");
});

const INITIALIZE = {
  method: "initialize",
  params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "test", version: "1" } },
};

import { homedir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, test } from "vitest";
import { typedPath } from "../../../src/platform/typed-path.ts";
import { folderWith } from "../../support/tree.ts";

test("a path is what was meant by it, and a file that has the name as it was typed comes first", () => {
  const tree = { "a b.txt": "1", "100% c#1?.txt": "2", "en%20coded": "3", '"q"': "4", é: "5", "~/x": "6" };
  const folder = folderWith(tree);
  const at = (name: string) => join(folder, name);
  const paths = [
    ["a b.txt", "a b.txt"],
    ['"a b.txt"', "a b.txt"],
    ["`a b.txt` \n", "a b.txt"],
    [`'${at("a b.txt")}'`, at("a b.txt")],
    [pathToFileURL(at("a b.txt")).href, at("a b.txt")],
    [`file://${at("a b.txt")}`, at("a b.txt")],
    [`file:${at("é")}`, at("é")],
    [`"file://localhost${at("a%20b.txt")}"`, at("a b.txt")],
    [pathToFileURL(at("100% c#1?.txt")).href, at("100% c#1?.txt")],
    [`file://${at("100% c#1?.txt")}`, at("100% c#1?.txt")],
    [`file://${at("en%20coded")}`, at("en%20coded")],
    [`file://${at("not there %41")}`, at("not there A")],
    ["~", "~"],
    ["~/x", "~/x"],
    ["~/not there", join(homedir(), "not there")],
    ["'~/not there'", join(homedir(), "not there")],
    ["~user/x", "~user/x"],
    ['"q"', '"q"'],
    ['"', '"'],
    ["file://elsewhere/a", "file://elsewhere/a"],
    ["x".repeat(100_000), "x".repeat(100_000)],
  ] as const;
  for (const [typed, path] of paths) expect(typedPath(typed, folder), typed).toBe(path);
});

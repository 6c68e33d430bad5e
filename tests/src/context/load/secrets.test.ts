import { symlinkSync, writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import { mayBeSecret } from "../../../../src/context/load/ignore-rules.ts";
import { load } from "../../../../src/context/load/load.ts";
import { filesIn, placeOf } from "../../../../src/models/agent-tools/allowed-paths.ts";
import { commandHere } from "../../../support/command-here.ts";
import { folderWith } from "../../../support/tree.ts";
import { zip } from "../../documents/packed.ts";

test("files that hold keys or passwords are known by their names, and others are not taken for such", () => {
  const secret = [
    ".env",
    "a/.ENV.local",
    "x.pem",
    "tls/server.key",
    "id_rsa",
    "id_ed25519",
    ".npmrc",
    ".ssh/config",
    "a/.aws/x",
    "tls/server.pem.gz",
    ...[
      ".mcp.json",
      "app/.mcp.json",
      "mcp.json",
      ".cursor/mcp.json",
      ".vscode/mcp.json",
      ".roo/mcp.json",
      ".vs/mcp.json",
    ],
    ...[".claude/settings.json", ".claude/settings.local.json", ".gemini/settings.json", ".qwen/settings.json"],
    ...["opencode.json", "opencode.jsonc", ".opencode/opencode.json", "kilo.jsonc", ".kilocode/mcp.json", "crush.json"],
    ...[
      ".codex/config.toml",
      ".pi/settings.json",
      ".pi/agent/auth.json",
      ".copilot/mcp-config.json",
      ".github/mcp.json",
    ],
    ...["cline_mcp_settings.json", ".continue/mcpServers/github.yaml", ".kiro/settings/mcp.json", ".zed/settings.json"],
    ...[
      ".windsurf/mcp_config.json",
      ".junie/mcp/mcp.json",
      ".aider.conf.yml",
      ".goose/config.yaml",
      "a/.CURSOR/MCP.json",
    ],
  ];
  const plain = [".env.example", "id_map.ts", "id_rsa.pub", "keys.ts", "env", "pem/readme.md", "monkey", "a.keys"];
  plain.push(
    ".claude/commands/review.md",
    ".cursor/rules/style.mdc",
    ".vscode/settings.json",
    ".github/workflows/ci.yml",
  );
  plain.push("src/mcp.ts", "docs/mcp.md", "src/settings.json", "claude/settings.json", "schemas/mcp.schema.json");
  expect(secret.filter((path) => !mayBeSecret(path))).toEqual([]);
  expect(plain.filter(mayBeSecret)).toEqual([]);
});

test("what a symlink leads to is left out by its own name, and by no folder above the one that loads", async () => {
  const folder = folderWith({ ".claude/work/package.json": "{}", ".claude/settings.json": "TOKEN", "app/a.txt": "a" });
  symlinkSync("../.claude", `${folder}/app/agent`);
  symlinkSync("package.json", `${folder}/.claude/work/linked.json`);
  const loaded = async (path: string) => {
    const { documents, stats } = await load({ kind: "path", path }, { roots: [folder], cwd: folder });
    return [documents.map(({ id }) => id), stats.skipped.files.map(({ reason }) => reason)];
  };
  expect(await loaded("app")).toEqual([["a.txt"], Array(3).fill("may contain secrets")]);
  expect(await loaded(".claude/work")).toEqual([["package.json"], ["symlink to a file that is already loaded"]]);
});

const TREE = { ".env": "TOKEN=1", ".ssh/id_rsa": "TOKEN=2", "a/b.pem": "TOKEN=3", "a/c.txt": "TOKEN=4" };
const IDS = "list_docs().map(({ id }) => id).join()";

test("a folder loads without them and says so; the flag lets them in, and a file that is named is the user's word", async () => {
  const cwd = folderWith(TREE);
  const belay = (...args: string[]) => commandHere(args, { cwd, home: `${cwd}/home` });
  const without = await belay("exec", "--no-store", "-c", "a", "-e", IDS);
  expect(without.stdout).toBe("c.txt\n");
  expect(without.stderr).toContain("skipped 1 file: b.pem (may contain secrets: --include-secrets)");
  expect((await belay("exec", "--no-store", "-c", "a", "--include-secrets", "-e", IDS)).stdout).toBe("b.pem,c.txt\n");
  expect((await belay("exec", "--no-store", "-c", ".env", "-e", "P")).stdout).toBe("TOKEN=1\n");
  expect((await belay("find", "TOKEN", "a/*")).stdout).toBe("a/c.txt:1:1: TOKEN=4\n");
  expect((await belay("find", "TOKEN", "a/*")).stderr).toContain("may contain secrets");
  expect(
    (await belay("find", "TOKEN", ".ssh", "a", "--include-secrets")).stdout.split("\n").filter(Boolean),
  ).toHaveLength(3);
});

test("tools of sub-agents neither list nor read them", async () => {
  const cwd = folderWith(TREE);
  const readable = { roots: [cwd], cwd };
  const files = await filesIn(readable, undefined, async () => {});
  expect(files.map(({ name }) => name)).toEqual(["a/c.txt"]);
  for (const path of [".env", ".ssh/id_rsa", "a/b.pem"]) {
    expect(() => placeOf(readable, path)).toThrow(expect.objectContaining({ code: "path_not_found" }));
  }
  expect(placeOf({ roots: [`${cwd}/.env`], cwd }, `${cwd}/.env`).isFolder).toBe(false);
});

test("members of an archive are left out as files of its folder are, unless the archive is named", async () => {
  const members = ["a.txt", "b.log", "node_modules/x.js", ".env"].map((name) => ({ name, data: name }));
  const cwd = folderWith({ "sub/c.txt": "c", ".gitignore": "*.log\nnode_modules/\n", ".git/HEAD": "" });
  writeFileSync(`${cwd}/sub/all.zip`, zip(members));
  const idsOf = async (path: string, how = {}) => {
    const { documents } = await load({ kind: "path", path }, { roots: [cwd], cwd, documents: how });
    return documents.map(({ id }) => id);
  };
  expect(await idsOf("sub")).toEqual(["all.zip/a.txt", "c.txt"]);
  const paths = { kind: "paths", paths: ["sub/*.zip"], folder: cwd } as const;
  const globbed = await load(paths, { roots: [cwd], cwd });
  expect(globbed.documents.map(({ id }) => id)).toEqual(["sub/all.zip/a.txt"]);
  expect(await idsOf("sub/all.zip")).toEqual(["all.zip/a.txt", "all.zip/b.log", "all.zip/node_modules/x.js"]);
  expect(await idsOf("sub", { secrets: true })).toEqual(["all.zip/a.txt", "all.zip/.env", "c.txt"]);
});

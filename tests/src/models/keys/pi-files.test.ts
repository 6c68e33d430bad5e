import { chmodSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { agentDirOf, readPiFiles, resolveEntry } from "../../../../src/models/keys/pi-files.ts";
import { refusalOf } from "../../../support/refusal.ts";
import { folderWith } from "../../../support/tree.ts";

const LOGIN = { type: "oauth", access: "token", refresh: "again", expires: 5000, enterpriseUrl: "x.example" };

test("Pi's folder is the one that Pi's own variable names, else the one in the home", () => {
  expect(agentDirOf({ HOME: "/home/me" })).toBe("/home/me/.pi/agent");
  expect(agentDirOf({ HOME: "/home/me", PI_CODING_AGENT_DIR: "/else/where" })).toBe("/else/where");
  expect(agentDirOf({ HOME: "/home/me", PI_CODING_AGENT_DIR: "~/pi" })).toBe("/home/me/pi");
  expect(agentDirOf({ HOME: "/home/me", PI_CODING_AGENT_DIR: "~" })).toBe("/home/me");
});

test("keys, logins and providers are read, with comments and trailing commas", () => {
  const dir = folderWith({
    "auth.json": JSON.stringify({ openai: { type: "api_key", key: "k1" }, anthropic: LOGIN, later: { type: "new" } }),
    "models.json": `{
      // the proxy of the office
      "providers": {
        "mine": { "baseUrl": "http://127.0.0.1:1/v1", "api": "openai-completions", "apiKey": "MY_KEY", "authHeader": true,
          "headers": { "x-team": "a // b, }" }, "models": [{ "id": "m1" }, { "id": "m2" },], },
      },
    }`,
  });
  const { credentials, providers } = readPiFiles(dir);
  expect(Object.fromEntries(credentials)).toEqual({ openai: { type: "api_key", key: "k1" }, anthropic: LOGIN });
  expect(Object.fromEntries(providers)).toEqual({
    mine: {
      ...{ baseUrl: "http://127.0.0.1:1/v1", api: "openai-completions", apiKey: "MY_KEY", authHeader: true },
      ...{ headers: { "x-team": "a // b, }" }, models: [{ id: "m1" }, { id: "m2" }], modelOverrides: {} },
    },
  });
});

test("files that are not there, or empty, hold nothing, and none is made", () => {
  const dir = folderWith({ "auth.json": "\n" });
  expect(readPiFiles(dir)).toMatchObject({ credentials: new Map(), providers: new Map() });
  expect(readPiFiles(join(dir, "no/such")).providers.size).toBe(0);
  expect(readdirSync(dir)).toEqual(["auth.json"]);
});

test("reading leaves the files as they are, and needs no leave to write", () => {
  const dir = folderWith({ "auth.json": "{}", "models.json": '{"providers":{}}' });
  const file = join(dir, "auth.json");
  chmodSync(file, 0o400);
  const { mtimeMs } = statSync(file);
  readPiFiles(dir);
  expect(statSync(file)).toMatchObject({ mtimeMs, size: 2 });
  expect(readdirSync(dir)).toEqual(["auth.json", "models.json"]);
});

test.each([
  ["auth.json", '{"openai": {"type":"api_key","key":"sk-secret'],
  ["auth.json", '["sk-secret"]'],
  ["models.json", '{"providers": {"mine": {"apiKey": "sk-secret"}}'],
  ["models.json", '{"models": "sk-secret"}'],
  ["models.json", '{"providers": {"mine": "sk-secret"}}'],
  ["models.json", '{"providers": {"mine": {"models": [{"name": "sk-secret"}]}}}'],
  ["models.json", '{"providers": {"mine": {"headers": {"x": ["sk-secret"]}}}}'],
])("%s with %s is refused without quoting it", (name, content) => {
  const dir = folderWith({ [name]: content });
  const { code, message } = refusalOf(() => readPiFiles(dir));
  expect(code).toBe("invalid_config");
  expect(message).toContain(join(dir, name));
  expect(message).not.toContain("sk-secret");
});

test("an entry is a variable's name, else the text itself, and a command is not run", () => {
  expect(resolveEntry("MY_KEY", { MY_KEY: "value" }, "the key")).toBe("value");
  expect(resolveEntry("MY_KEY", {}, "the key")).toBe("MY_KEY");
  const dir = folderWith();
  const { code, message, suggestion } = refusalOf(() => resolveEntry(`!touch ${dir}/ran`, {}, "the key of mine"));
  expect({ code, message }).toEqual({
    code: "no_model_configured",
    message: "the key of mine is a command, and Belay runs no commands of Pi's files",
  });
  expect(suggestion).toContain("`apiKeyEnv`");
  expect(readdirSync(dir)).toEqual([]);
});

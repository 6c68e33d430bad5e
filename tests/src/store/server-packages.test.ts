import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { PG_BOSS_VERSION, serverPackagesCure } from "../../../src/store/server-packages.ts";

const FILE = "node_modules/belay-rlm/dist/src/store/postgres/connection.js";
const BOTH = `pg pg-boss@${PG_BOSS_VERSION}`;

test.each([
  ["a checkout", "/home/u/belay/src/server-packages.ts", "Run `npm ci` in the checkout of Belay."],
  ["a project", `/home/u/app/${FILE}`, `Run \`npm install ${BOTH}\` in /home/u/app.`],
  ["a project, with pnpm", `/home/u/app/node_modules/.pnpm/x/${FILE}`, `Run \`npm install ${BOTH}\` in /home/u/app.`],
  ["global", `/usr/lib/${FILE}`, `Run \`npm install -g ${BOTH}\`.`],
  [
    "global on Windows",
    `C:\\Users\\u\\AppData\\Roaming\\npm\\${FILE.replaceAll("/", "\\")}`,
    `Run \`npm install -g ${BOTH}\`.`,
  ],
  [
    "npx",
    `/home/u/.npm/_npx/8c5e/${FILE}`,
    `Start Belay by \`npx -p belay-rlm -p pg -p pg-boss@${PG_BOSS_VERSION} belay\`.`,
  ],
])("the packages of a server are installed as Belay was: %s", (_way, module, cure) => {
  const projects = ["/home/u/app/package.json", "/home/u/.npm/_npx/8c5e/package.json"];
  expect(serverPackagesCure(module, (path) => projects.includes(String(path)))).toBe(cure);
});

test("the version of pg-boss is that of the tests", () => {
  const { devDependencies } = JSON.parse(readFileSync(new URL("../../../package.json", import.meta.url), "utf8"));
  expect(devDependencies["pg-boss"]).toBe(PG_BOSS_VERSION);
});

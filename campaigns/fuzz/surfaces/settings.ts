import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { readConfig, USER_ONLY } from "../../../src/settings/config.ts";
import { isLimit, KEYS, usualLimit } from "../../../src/settings/settings.ts";
import { below, distorted, mutated, type Random } from "../mutate.ts";
import { type OpenSurface, unnamed } from "../surface.ts";

const USER = {
  model: "a/b",
  base_url: "http://127.0.0.1:1/v1",
  max_sub_calls: 9,
  memory_mb: 64,
  convert: { pdf: false },
};
const PROJECT = { model: "a/c", max_sub_calls: 4, max_cost_usd: 1, thinking: "off", roots: ["."], concurrency: 2 };

/** Files of settings: they are read or refused by name, and a project's grants and raises nothing. */
export const openSettings: OpenSurface = async (folder) => {
  const userFile = join(folder, "user.json");
  return {
    async play(random) {
      writeFileSync(userFile, below(random, 2) === 0 ? JSON.stringify(USER) : fileOf(random, USER));
      writeFileSync(join(folder, "belay.config.json"), fileOf(random, PROJECT));
      const places = (cwd: string) => ({ cwd, env: {}, userFile });
      try {
        const own = readConfig({}, places("/"));
        const found: Readonly<Record<string, unknown>> = readConfig({}, places(folder));
        const key = Object.keys(found).find((name) => !KEYS.includes(name));
        if (key !== undefined) return `the setting ${key} came out`;
        const granted = USER_ONLY.find((name) => JSON.stringify(found[name]) !== JSON.stringify(Object(own)[name]));
        if (granted !== undefined) return `a project set ${granted}`;
        const raised = Object.keys(found).find(
          (name) => isLimit(name) && Number(found[name]) > Math.max(usualLimit(name) ?? Infinity, own[name] ?? 0),
        );
        return raised === undefined ? null : `a project raised ${raised}`;
      } catch (error) {
        return unnamed(error);
      }
    },
    async [Symbol.asyncDispose]() {},
  };
};

function fileOf(random: Random, settings: object): string | Uint8Array {
  const text = JSON.stringify(below(random, 2) === 0 ? distorted(random, settings) : settings);
  return below(random, 2) === 0 ? text : mutated(random, Buffer.from(text));
}

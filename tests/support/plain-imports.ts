import { registerHooks } from "node:module";

const SOURCES = new URL("../../", import.meta.url).href;

const isSource = (url: string | undefined) => url?.startsWith(SOURCES) === true && !url.includes("/node_modules/");

// A source names another one by its path. Node would look for it on the disk, and Vitest would tell its parent of each import, which
// only needs them while files are watched. It would also look for a module in its place: tests that replace one are run by Vite.
if (process.env.VITEST_MODE === "RUN")
  registerHooks({
    resolve(specifier, context, next) {
      const isPath = /^\.\.?\/.*\.ts$/.test(specifier) && isSource(context.parentURL);
      return isPath
        ? { url: new URL(specifier, context.parentURL).href, shortCircuit: true }
        : next(specifier, context);
    },
  });

import { appendFileSync } from "node:fs";
import { registerHooks } from "node:module";

// Notes the URL of each module that the process loads, before it is loaded, in the file of this variable.
const file = process.env.BELAY_TEST_LOADED;

registerHooks({
  load(url, context, next) {
    appendFileSync(file, `${url}\n`);
    return next(url, context);
  },
});

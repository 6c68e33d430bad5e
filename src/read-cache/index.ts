export { digest } from "./digest.ts";
export { readTextFile } from "./file.ts";
export { type Happened, type Known, knownOf } from "./known.ts";
export { hasMeta, META_KEY, type Meta, metaIn, REFRESH_ENTRY, type Refresh, refreshIn } from "./meta.ts";
export { canName, isThere, readPath } from "./path.ts";
export { prove, type ReadResult } from "./proof.ts";
export { FULL, scopeOf } from "./scope.ts";
export { type Served, serve } from "./serve.ts";
export { badRange, openTexts, suffixOf, type Texts } from "./texts.ts";

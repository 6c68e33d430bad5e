import { workerData } from "node:worker_threads";
import { buildParts, type Parts } from "./parts.ts";

// Another thread of a build. What it fails to do the first one does, or fails to do as well.
const parts: Parts = workerData;
buildParts(parts, () => {});

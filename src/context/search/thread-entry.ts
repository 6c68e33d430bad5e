import { workerData } from "node:worker_threads";
import { openText } from "../text/text.ts";
import { buildParts, type Parts, planOf } from "./parts.ts";

// Another thread of a build. What it fails to do the first one does, or fails to do as well.
const parts: Parts = workerData;
buildParts(parts, planOf(openText(parts.text), parts.documents), () => {});

import { imageFormat, imageProblem } from "../../runtime/index.ts";
import { isRecord, parseJson } from "../platform/json.ts";

/** The value of `jobs.engine` for this build. */
export function ownEngine(): string {
  return JSON.stringify(imageFormat());
}

/**
 * True if this build cannot read the images of the one that has begun a job.
 * A row may be damaged or hostile: what is not the format of an image cannot be read.
 */
export function isOfAnotherBuild(engine: string | null): boolean {
  if (engine === null) return false;
  const gate: unknown = parseJson(engine);
  const own = imageFormat();
  if (!isRecord(gate) || !Object.entries(own).every(([name, value]) => typeof gate[name] === typeof value)) return true;
  return imageProblem({ gate: { ...own, ...gate } }) !== null;
}

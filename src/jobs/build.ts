import { imageFormat, imageProblem } from "../../runtime/index.ts";
import { isRecord, parseJson } from "../platform/json.ts";

/** The value of `jobs.engine` for this build. */
export async function ownEngine(): Promise<string> {
  return JSON.stringify(await imageFormat());
}

/**
 * True if this build cannot read the images of the one that has begun a job.
 * A row may be damaged or hostile: what is not the format of an image cannot be read.
 */
export async function isOfAnotherBuild(engine: string | null): Promise<boolean> {
  if (engine === null) return false;
  const gate: unknown = parseJson(engine);
  const own = await imageFormat();
  if (!isRecord(gate) || !Object.entries(own).every(([name, value]) => typeof gate[name] === typeof value)) return true;
  return (await imageProblem({ gate: { ...own, ...gate } })) !== null;
}

import { RlmError } from "../../runtime/errors.ts";

/** Ids become names of files, so they are looked at first. @throws RlmError `invalid_argument` */
export function checkSessionId(id: string): void {
  if (/^[0-9A-Za-z-]{1,64}$/.test(id)) return;
  const suggestion = "Session ids are ULIDs: 1 to 64 letters, digits and hyphens.";
  throw new RlmError("invalid_argument", `${JSON.stringify(id)} is not a valid session id`, { suggestion });
}

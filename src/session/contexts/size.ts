import { LIMITS } from "../../../runtime/index.ts";
import type { LoadOptions } from "../../context/index.ts";
import type { HostedOptions } from "../option-types.ts";

/** Options of a session that say how much text and how many documents its context may have. */
type SizeOptions = Pick<HostedOptions, "maxContextMb" | "maxFiles">;

/** The most that a context may hold by these options. */
export function mostOf({ maxContextMb, maxFiles = LIMITS.files }: SizeOptions): NonNullable<LoadOptions["most"]> {
  const bytes = maxContextMb === undefined ? LIMITS.contextBytes : maxContextMb * 2 ** 20;
  return { files: maxFiles, bytes };
}

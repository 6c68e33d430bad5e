import type { Asks } from "../session/index.ts";
import { begin, checkSchema } from "./begin.ts";
import { child } from "./child.ts";
import { drive } from "./drive.ts";
import { askEnvelope } from "./envelope.ts";

/** What drives the asks of sessions. */
export const asks: Asks = { begin, checkSchema, drive, child, recorded: askEnvelope };

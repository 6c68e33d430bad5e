import { withoutPasswords } from "../../platform/store-place.ts";
import { jsonText } from "../../platform/visible.ts";
import type { Arguments } from "../flags/arguments.ts";
import { JSON_OUTPUT } from "../flags/declared.ts";
import { storePlace } from "../flags/values.ts";
import type { Host } from "../host.ts";
import { processTerminal, type Style } from "../render/terminal.ts";
import { version } from "../version.ts";
import { type Check, checkInstallation } from "./checks.ts";

/** `belay doctor`: prints every check with its cure. Gives exit code 1 if one failed. */
export async function doctorCommand(args: Arguments, host: Host): Promise<number> {
  const terminal = processTerminal(() => {});
  const { stdout } = terminal;
  const checks: Check[] = [];
  for (const check of checkInstallation({ place: storePlace(args), host, terminal })) {
    checks.push(toldOnce(await check(), checks));
  }
  const isWell = checks.every(({ state }) => state !== "failed");
  if (args.get(JSON_OUTPUT)) {
    stdout.writeRaw(`${jsonText({ success: isWell, version: version(), checks })}\n`);
    return isWell ? 0 : 1;
  }
  const width = Math.max(...checks.map(({ name }) => name.length));
  stdout.write(`belay ${version()}\n`);
  for (const { name, state, detail, cure } of checks) {
    stdout.write(state.padEnd(9), STYLES[state]);
    stdout.write(`${name.padEnd(width)}  ${detail.replaceAll("\n", `\n${" ".repeat(11 + width)}`)}\n`);
    if (cure) stdout.write(`${" ".repeat(9 + width)}  cure: ${cure}\n`);
  }
  stdout.write(isWell ? "all is well\n" : `${checks.filter(({ state }) => state === "failed").length} failed\n`);
  return isWell ? 0 : 1;
}

/** A failure that an earlier check met already is told there, with its cure. */
function toldOnce({ name, state, detail: found, ...rest }: Check, earlier: readonly Check[]): Check {
  const detail = withoutPasswords(found);
  const first = state === "ok" ? undefined : earlier.find((one) => one.detail === detail);
  return first
    ? { name, state, detail: `cannot be looked at until ${first.name} is cured` }
    : { name, state, detail, ...rest };
}

const STYLES: Record<Check["state"], Style> = { ok: "green", warning: "yellow", failed: "red" };

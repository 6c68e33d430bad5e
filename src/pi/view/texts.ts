import type { ExtensionUIContext } from "@mariozechner/pi-coding-agent";
import { visible } from "../../platform/visible.ts";

/** Text of a guest, model or file as Pi's screen may get it: what steers or hides is a code point. Tabs are spaces. */
export function harmless(text: string): string {
  return visible(text).replaceAll("\t", "  ");
}

/** Says something to a person: as a notice, or with `write` when there is no user interface. */
export function say(
  text: string,
  type: "info" | "warning" | "error",
  { hasUI, ui }: { readonly hasUI: boolean; readonly ui: Pick<ExtensionUIContext, "notify"> },
  write: (text: string) => void,
): void {
  if (hasUI) ui.notify(harmless(text), type);
  else write(`${harmless(text)}\n`);
}

/** The beginning of a text on one line. */
export function oneLine(text: string, units: number): string {
  // Of a long text only the beginning is looked at.
  const line = harmless(
    text
      .slice(0, units * LOOKED_AT)
      .trim()
      .replaceAll(/\s+/g, " "),
  );
  return line.length > units ? `${line.slice(0, units - 1)}…` : line;
}

const LOOKED_AT = 16;

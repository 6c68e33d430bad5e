import type { ExtensionUIContext, Theme } from "@mariozechner/pi-coding-agent";
import { visible } from "../../platform/visible.ts";

/**
 * Text of a guest, model or file as Pi's screen may get it: what steers or hides is a code point.
 * Tabs are spaces.
 */
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

/** Characters up to which a value stays on its line. */
const ON_ONE_LINE = 80;

/** JSON in which only what is long is spread over lines; empty for undefined. */
export function jsonText(value: unknown, indent = ""): string {
  const line = JSON.stringify(value) ?? "";
  if (line.length <= ON_ONE_LINE || typeof value !== "object" || value === null) return line;
  const deeper = `${indent}  `;
  const items = Array.isArray(value)
    ? value.map((item) => jsonText(item, deeper))
    : Object.entries(value).map(([key, held]) => `${JSON.stringify(key)}: ${jsonText(held, deeper)}`);
  const [open, close] = Array.isArray(value) ? ["[", "]"] : ["{", "}"];
  return `${open}\n${items.map((item) => deeper + item).join(",\n")}\n${indent}${close}`;
}

/** Colours by their names in Pi's themes. */
export type Paint = Pick<Theme, "fg" | "bold">;

/** Lines of highlighted JavaScript. */
export type Highlight = (code: string) => readonly string[];

/** Parts of a line with quiet dots between them. */
export function dotted(parts: readonly string[], paint: Paint): string {
  return parts.join(paint.fg("dim", " · "));
}

import type { Theme } from "@mariozechner/pi-coding-agent";

/** Colours by their names in Pi's themes. */
export type Paint = Pick<Theme, "fg" | "bold">;

/** Lines of highlighted JavaScript. */
export type Highlight = (code: string) => readonly string[];

/** Parts of a line with quiet dots between them. */
export function dotted(parts: readonly string[], paint: Paint): string {
  return parts.join(paint.fg("dim", " · "));
}

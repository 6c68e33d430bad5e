import { type TurnProgress, turnOverLine } from "./ask.ts";

/** The turns of an ask and of the children below it. Each has a line when it is over. */
export interface TurnLines {
  /** Lines of the turns of which this report says that they are over. */
  after(progress: TurnProgress): string[];
  /** Lines of all that are left. */
  rest(): string[];
}

export function openTurnLines(): TurnLines {
  /** The newest turn of each session, by its path, once its model has replied. */
  const newest = new Map<string, TurnProgress>();

  function over(isOver: (path: string) => boolean): string[] {
    const done = [...newest].filter(([path]) => isOver(path)).sort(([, a], [, b]) => b.depth - a.depth);
    for (const [path] of done) newest.delete(path);
    return done.map(([, turn]) => turnOverLine(turn));
  }

  return {
    after(progress) {
      const own = pathOf(progress);
      // While the model is asked, no cell of it runs, so no child of it is left; and its turn before is over.
      const lines = over((path) => path !== own && path.startsWith(own));
      if (progress.phase === "asked") return [...lines, ...over((path) => path === own)];
      newest.set(own, progress);
      return lines;
    },
    rest: () => over(() => true),
  };
}

/** Ends each id, so that no path is the beginning of another one's id. */
const pathOf = ({ path }: TurnProgress) => path.map((id) => `${id}/`).join("");

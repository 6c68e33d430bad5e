import type { LoadOptions } from "../../context/index.ts";
import type { Texts } from "../../store/index.ts";

/**
 * The texts of the store for loads that may need them. From then on none of them is removed, until
 * they are freed: once a session names what was loaded.
 */
export interface HeldTexts extends AsyncDisposable {
  /** Options of loads. A store that keeps no large texts has none. */
  readonly loading: Pick<LoadOptions, "texts">;
  hold(): Promise<void>;
  free(): Promise<void>;
}

export function openHeldTexts(texts: Texts | null): HeldTexts {
  let holding: Promise<Disposable> | undefined;

  async function hold(): Promise<void> {
    holding ??= texts?.hold();
    try {
      await holding;
    } catch (error) {
      holding = undefined;
      throw error;
    }
  }

  async function free(): Promise<void> {
    const held = holding;
    holding = undefined;
    (await held)?.[Symbol.dispose]();
  }

  async function folderOf({ folder }: Texts): Promise<string> {
    await hold();
    return folder;
  }

  return {
    loading: texts === null ? {} : { texts: () => folderOf(texts) },
    hold,
    free,
    [Symbol.asyncDispose]: free,
  };
}

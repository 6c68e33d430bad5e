import type { LoadOptions } from "../../context/index.ts";
import type { Store, Texts } from "../../store/index.ts";

/**
 * The texts of the store for loads that may need them. From then on none of them is removed, until
 * they are freed: once a session names what was loaded.
 */
export interface HeldTexts extends AsyncDisposable {
  /** Options of loads. A store that keeps no large texts has none. */
  readonly loading: Pick<LoadOptions, "texts">;
  hold(): Promise<void>;
  free(): Promise<void>;
  /** Frees them after a load that has failed, and removes what it has left. */
  drop(): Promise<void>;
}

export function openHeldTexts({ texts, sweepTexts }: Pick<Store, "texts" | "sweepTexts">): HeldTexts {
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

  async function drop(): Promise<void> {
    const isHeld = holding !== undefined;
    await free();
    if (isHeld) await sweepTexts();
  }

  async function folderOf({ folder }: Texts): Promise<string> {
    await hold();
    return folder;
  }

  return {
    loading: texts === null ? {} : { texts: () => folderOf(texts) },
    hold,
    free,
    drop,
    [Symbol.asyncDispose]: free,
  };
}

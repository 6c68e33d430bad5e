import { createHash } from "node:crypto";
import type { EnginePlace } from "../engine.ts";
import { RlmError } from "../errors.ts";
import type { Guest } from "../guest.ts";
import type { Library } from "../library.ts";
import type { CheckpointRequest, Restoration } from "../protocol.ts";
import { hostText } from "../texts.ts";
import type { Baseline, GuestImage, ImageFormat, ImageMeta, ImagePages, TextPlace } from "./image.ts";
import { openPages } from "./pages.ts";

/** Captures images of a guest, each as what changed since an earlier one. */
export type Images = ReturnType<typeof openImages>;

/**
 * Must be called before anything has run in the guest.
 * @param restore the images that the guest was opened from. The memory of `image` is kept and written to
 */
export function openImages(
  { library, engine, prelude }: Pick<Guest, "engine" | "library" | "prelude">,
  format: ImageFormat,
  { image: opened, fresh }: Partial<Restoration> = {},
) {
  // The prelude is part of the image, so it still has the bridge of the build that made the guest.
  const gate = opened?.meta.gate ?? format;
  const preludeHash = sha256(prelude);

  function live(): { memory: Uint8Array; meta: Omit<ImageMeta, "granted" | "texts"> } {
    const { memory, ...place } = engine.image();
    return { memory, meta: { gate, prelude: preludeHash, linearBytes: memory.length, ...place } };
  }

  function baseline(): Pick<GuestImage, "id" | "memory"> {
    const { memory: found, meta } = live();
    const memory = found.slice().fill(0, 0, meta.stackPointer);
    return { id: baselineId(memory, meta), memory };
  }

  const { id: origin, memory: first } = opened ?? baseline();
  const pages = openPages(origin, first, fresh);

  /** Places of texts that the library has, which images leave out. Other texts are part of the image. */
  function texts(memory: Uint8Array, verify: boolean): TextPlace[] {
    return engine.texts().flatMap((place) => {
      const text = library.texts[place.name];
      const id = text?.id() ?? null;
      if (!text || id === null || (verify && !hostText(text.read()).isIn(part(memory, place)))) return [];
      return [{ ...place, id }];
    });
  }

  return {
    /** Identifies the prelude of this build, see `ImageMeta.prelude`. */
    prelude: preludeHash,
    heldBytes: pages.heldBytes,
    /** See `Machine.baseline`. Must be called before an image is captured. */
    baseline(): Baseline {
      const meta = { ...live().meta, granted: 0, texts: [] };
      const whole = openPages(origin, new Uint8Array(first.length));
      const { pages } = whole.capture({ id: origin, base: origin, anchor: false, memory: first, masks: [] });
      const memory = new Uint8Array(new SharedArrayBuffer(first.length));
      memory.set(first);
      return { image: { id: origin, meta, memory }, pages: shared(pages) };
    },
    /**
     * `isKept` is false if the image was not kept as the base of the next one: the memory and what is held of it would have been
     * more than `most` bytes.
     * @param granted bytes beyond its own limit that the guest has
     */
    capture({ id, base, kind }: Omit<CheckpointRequest, "commands">, granted: number, most: number) {
      const whole = base === null || !pages.has(base);
      const { memory, meta } = live();
      const listed = texts(memory, whole);
      return {
        id,
        meta: { ...meta, granted, texts: listed },
        ...pages.capture({
          id,
          base,
          anchor: kind === "end",
          memory,
          // The engine's stack lies at the bottom of memory. A guest at rest does not use what is left there below its pointer.
          masks: [{ address: 0, bytes: meta.stackPointer }, ...listed],
          mostHeld: kind === "end" ? most + granted - memory.length : Number.POSITIVE_INFINITY,
        }),
      };
    },
  };
}

/** Id of the image of a fresh guest. Builds of earlier versions wrote it too, so it must stay as it is. */
export function baselineId(memory: Uint8Array, meta: Omit<ImageMeta, "granted" | "texts">): string {
  return `baseline:${sha256(memory, JSON.stringify(meta))}`;
}

function shared(pages: ImagePages): ImagePages {
  const copy = (words: Uint32Array) => {
    const made = new Uint32Array(new SharedArrayBuffer(words.byteLength));
    made.set(words);
    return made;
  };
  return pages.map((part) => ({ ...part, numbers: copy(part.numbers), changes: copy(part.changes) }));
}

/**
 * Returns what the engine makes the guest of an image from: the image, and from the library the texts that were left out.
 *
 * @throws RlmError `checkpoint_lost` if the library has another text
 */
export function fromImage({ meta, memory }: GuestImage, library: Pick<Library, "texts">) {
  const { stackPointer, runtimePtr, contextPtr, entries } = meta;
  const texts = meta.texts.map((place) => {
    const found = library.texts[place.name];
    if (found?.id() !== place.id) {
      const problem = `the checkpoint was made with another ${place.name} than the one that is loaded`;
      const suggestion = "Load the context that the session had, or start the session anew.";
      throw new RlmError("checkpoint_lost", problem, { suggestion });
    }
    return { place, text: hostText(found.read()) };
  });
  return { image: { memory, stackPointer, runtimePtr, contextPtr, entries }, texts };
}

const part = (memory: Uint8Array, { address, bytes }: EnginePlace) => memory.subarray(address, address + bytes);

function sha256(...parts: readonly (string | Uint8Array)[]): string {
  const hash = createHash("sha256");
  for (const each of parts) hash.update(each);
  return hash.digest("hex");
}

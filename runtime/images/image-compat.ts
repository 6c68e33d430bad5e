import { quickJsBuild } from "../quickjs/build.ts";
import type { ImageFormat, ImageMeta } from "./image.ts";

/** Version of the page and meta layout. Raise it when an older build could not read an image. */
const FORMAT = 2;
/**
 * Version of the guest code that lives in images, and of what it and the host say to each other.
 * Raise it with every change of either: tests/runtime/images/image-compat.test.ts says when.
 */
const BRIDGE = 7;
/**
 * The oldest bridge that this host understands. Sessions with guest code of an older one keep
 * memory and helpers, and lose their variables. Sessions since then keep their guest code, so set
 * it to BRIDGE if a change of guest code must reach every session.
 */
const OLDEST_BRIDGE = 5;

/** The format that images of this build have. */
export function imageFormat(): ImageFormat {
  return { format: FORMAT, wasm: quickJsBuild().sha256, bridge: BRIDGE };
}

/**
 * Why this build cannot read an image, as a sentence without its full stop. Returns null if this
 * build can.
 */
export function imageProblem({ gate }: Pick<ImageMeta, "gate">): string | null {
  const { format, wasm, bridge } = imageFormat();
  if (gate.format !== format) return `checkpoint format ${gate.format}, this build reads ${format}`;
  if (gate.bridge < OLDEST_BRIDGE || gate.bridge > bridge) {
    return `checkpoint bridge ${gate.bridge}, this build speaks ${OLDEST_BRIDGE} to ${bridge}`;
  }
  if (gate.wasm !== wasm) {
    return `checkpoint of engine ${gate.wasm.slice(0, 12)}, this build runs ${wasm.slice(0, 12)}`;
  }
  return null;
}

import type { ImageFormat, ImageMeta } from "./image.ts";
import { quickJsBuild } from "./quickjs-wasi.ts";

/** Version of the page and meta layout. Raise it when an older build could not read an image. */
const FORMAT = 2;
/**
 * Version of the messages between host and prelude. Raise it when an older host would not understand a prelude's, and
 * OLDEST_BRIDGE when this host no longer understands an older prelude's. 2: a result comes in parts.
 */
const BRIDGE = 2;
const OLDEST_BRIDGE = 1;

/** What images of this build can be read with. */
export async function imageFormat(): Promise<ImageFormat> {
  return { format: FORMAT, wasm: (await quickJsBuild()).sha256, bridge: BRIDGE };
}

/** Why this build cannot read an image, as a sentence without its full stop. Returns null if this build can. */
export async function imageProblem({ gate }: Pick<ImageMeta, "gate">): Promise<string | null> {
  const { format, wasm, bridge } = await imageFormat();
  if (gate.format !== format) return `checkpoint format ${gate.format}, this build reads ${format}`;
  if (gate.bridge < OLDEST_BRIDGE || gate.bridge > bridge) {
    return `checkpoint bridge ${gate.bridge}, this build speaks ${OLDEST_BRIDGE} to ${bridge}`;
  }
  if (gate.wasm !== wasm) {
    return `checkpoint of engine ${gate.wasm.slice(0, 12)}, this build runs ${wasm.slice(0, 12)}`;
  }
  return null;
}

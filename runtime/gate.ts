import type { ImageGate, ImageMeta } from "./image.ts";
import { quickJsBuild } from "./quickjs-wasi.ts";

/** Of the layout of pages and meta. */
const FORMAT = 2;
/** Of the messages between host and prelude: raise it where an older prelude would not understand them. */
const BRIDGE = 1;

/** What images of this build can be read with. */
export async function imageGate(): Promise<ImageGate> {
  return { format: FORMAT, wasm: (await quickJsBuild()).sha256, bridge: BRIDGE };
}

/** Why this build cannot read an image, as a sentence without its full stop; null where it can. */
export async function imageProblem({ gate }: Pick<ImageMeta, "gate">): Promise<string | null> {
  const { format, wasm, bridge } = await imageGate();
  if (gate.format !== format) return `checkpoint format ${gate.format}, this build reads ${format}`;
  if (gate.bridge !== bridge) return `checkpoint bridge ${gate.bridge}, this build speaks ${bridge}`;
  if (gate.wasm !== wasm) {
    return `checkpoint of engine ${gate.wasm.slice(0, 12)}, this build runs ${wasm.slice(0, 12)}`;
  }
  return null;
}

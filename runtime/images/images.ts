import { createHash } from "node:crypto";
import { helpersIn, OUT_OF_MEMORY } from "../cells/run-helpers.ts";
import { noRoom } from "../ends.ts";
import { type EnginePlace, MachineFault, type Prelude } from "../engine.ts";
import { enterCommand } from "../enter.ts";
import { RlmError } from "../errors.ts";
import type { Guest } from "../guest.ts";
import type { Library } from "../library.ts";
import { COMMAND_MS, DEFAULT_EXEC_LIMITS } from "../limits.ts";
import { hostText } from "../post.ts";
import type { Checkpoint, CheckpointRequest, ExecInput, Json, Restoration, SliceEnd } from "../protocol.ts";
import { idleState } from "../running.ts";
import type { Baseline, GuestImage, ImageDelta, ImageFormat, ImageMeta, ImagePages, TextPlace } from "./image.ts";
import { openPages } from "./pages.ts";

/** Captures images of a guest, each as what changed since an earlier one. */
interface Images {
  /** Identifies the prelude of this build, see `ImageMeta.prelude`. */
  readonly prelude: string;
  /** Bytes of the copies that are kept to compare with. */
  heldBytes(): number;
  /** See `Machine.baseline`. Must be called before an image is captured. */
  baseline(): Baseline;
  /**
   * `isKept` is false if the image was not kept as the base of the next one: the memory and what is
   * held of it would have been more than `most` bytes.
   * @param granted bytes beyond its own limit that the guest has
   */
  capture(
    request: Omit<CheckpointRequest, "commands">,
    granted: number,
    most: number,
  ): ImageDelta & { readonly isKept: boolean };
}

/**
 * Must be called before anything has run in the guest.
 * @param known the format of this build's images, and what `ImageMeta.prelude` is in them; `null`: it is computed, for
 * which a thread loads node:crypto
 * @param restore the images that the guest was opened from. The memory of `image` is kept and
 * written to
 */
export function openImages(
  { library, engine, prelude }: Pick<Guest, "engine" | "library" | "prelude">,
  known: { readonly format: ImageFormat; readonly prelude: string | null },
  { image: opened, fresh }: Partial<Restoration> = {},
): Images {
  // The prelude is part of the image, so it still has the bridge of the build that made the guest.
  const gate = opened?.meta.gate ?? known.format;
  const preludeHash = known.prelude ?? hashOf(prelude());

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

  /**
   * Places of texts that the library has, which images leave out. Other texts are part of the
   * image.
   */
  function texts(memory: Uint8Array, verify: boolean): TextPlace[] {
    return engine.texts().flatMap((place) => {
      const text = library.texts[place.name];
      const id = text?.id() ?? null;
      if (!text || id === null || (verify && !hostText(text.read()).isIn(part(memory, place)))) return [];
      return [{ ...place, id }];
    });
  }

  return {
    prelude: preludeHash,
    heldBytes: pages.heldBytes,
    baseline(): Baseline {
      const meta = { ...live().meta, granted: 0, texts: [] };
      const whole = openPages(origin, new Uint8Array(first.length));
      const { pages } = whole.capture({ id: origin, base: origin, anchor: false, memory: first, masks: [] });
      const memory = new Uint8Array(new SharedArrayBuffer(first.length));
      memory.set(first);
      return { image: { id: origin, meta, memory }, pages: shared(pages) };
    },
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
          // The engine's stack lies at the bottom of memory. A guest at rest does not use what is
          // left there below its pointer.
          masks: [{ address: 0, bytes: meta.stackPointer }, ...listed],
          mostHeld: kind === "end" ? most + granted - memory.length : Number.POSITIVE_INFINITY,
        }),
      };
    },
  };
}

/**
 * Id of the image of a fresh guest. Builds of earlier versions wrote it too, so it must stay as it
 * is.
 */
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
 * Returns what the engine makes the guest of an image from: the image, and from the library the
 * texts that were left out.
 *
 * @throws RlmError `checkpoint_lost` if the library has another text
 */
export function fromImage({ meta, memory }: GuestImage, library: Pick<Library, "texts">) {
  const { stackPointer, runtimePtr, contextPtr, entries } = meta;
  const texts = meta.texts.map((place) => {
    const text = library.texts[place.name];
    if (text?.id() !== place.id) {
      const problem = `the checkpoint was made with another ${place.name} than the one that is loaded`;
      const suggestion = "Load the context that the session had, or start the session anew.";
      throw new RlmError("checkpoint_lost", problem, { suggestion });
    }
    return { place, text: hostText(text.read()) };
  });
  return { image: { memory, stackPointer, runtimePtr, contextPtr, entries }, texts };
}

const hashOf = ({ source, config }: Prelude) => sha256(source + config);

const part = (memory: Uint8Array, { address, bytes }: EnginePlace) => memory.subarray(address, address + bytes);

function sha256(...parts: readonly (string | Uint8Array)[]): string {
  const hash = createHash("sha256");
  for (const each of parts) hash.update(each);
  return hash.digest("hex");
}

/** Begins an exec and runs its cell: see `Machine.startCell`. */
type StartCell = (guest: Guest, input: ExecInput) => SliceEnd;

/**
 * Captures an image of a guest at rest: between execs, or while one waits for calls. If the
 * request's commands list the helpers, the guest is checked too, and tried out if it has little
 * room left.
 *
 * @throws MachineFault if the guest is not at rest or not sound; RlmError `memory_limit_exceeded`
 * if no other cell could run
 */
export function captureImage(
  guest: Guest,
  images: Images,
  request: CheckpointRequest,
  startCell: StartCell,
): Checkpoint {
  const { engine, heap, clock, library, running } = guest;
  const from = clock.monotonic();
  clock.start(0, COMMAND_MS);
  // If the exec was cancelled its state is saved all the same.
  clock.grace(COMMAND_MS);
  const answers = heap.withSpareBytes(() => request.commands.map((name) => enterCommand(guest, name, null)));
  if (engine.hasJob()) throw new MachineFault("a checkpoint was asked for while the guest had work to do");
  const helpers = answers[request.commands.indexOf(library.preamble.list)];
  const isSpent = helpers !== undefined && !hasRoom(guest, helpers);
  if (engine.linearBytes() - heap.granted() > CLEARED_BYTES) engine.clearFree();
  const { isKept, ...delta } = heap.withoutLimit(() => images.capture(request, heap.granted(), heap.copiesBytes));
  heap.holdsCopy(images.heldBytes());
  const waiting = [...running.outstanding];
  if (isSpent) tryOut(guest, startCell);
  return { delta, answers, waiting, ms: clock.monotonic() - from, isSpent: isSpent || !isKept };
}

/** In linear memory that is smaller there is little that is free. */
const CLEARED_BYTES = 8 * 2 ** 20;

/**
 * True if the guest is certainly sound and has room for the next cell and its helpers. If not,
 * `tryOut` finds out. Costs next to nothing.
 *
 * @param helpers what the guest command `preamble.list` answered
 */
function hasRoom({ engine, heap, scripts }: Guest, helpers: Json): boolean {
  const room = helpersIn(helpers).reduce((sum, { name, code }) => {
    const { source, names } = scripts.helper(name, code);
    return sum + source.length * ROOM_PER_HELPER_UNIT + names * ROOM_PER_HELPER_NAME;
  }, ROOM_BYTES);
  const dropped = heap.withholding(Math.min(room, heap.limitBytes / 2), () => engine.enter("drop", PROBE));
  return dropped.ok && (dropped.value === "jtrue" || dropped.value === "jnull");
}

/**
 * A guest with less room than this is tried out before its state is kept, and opened anew, which
 * takes 0.15 s. A small cell needs less than 50 KB beside what must be left. Room for a helper, in
 * bytes for each unit of its code and for each name. Helpers of 900 KB took 20 MB with 9,000
 * functions, 13 MB as one list, and 70 MB with 60,000 small functions.
 */
const ROOM_BYTES = 1.25 * 2 ** 20;
const ROOM_PER_HELPER_UNIT = 16;
const ROOM_PER_HELPER_NAME = 1024;
/**
 * JSON that is longer than what the engine keeps room for in small blocks: the engine must ask for
 * memory.
 */
const PROBE = `${" ".repeat(1024)}null`;

/**
 * Runs helpers and a small cell with little room to spare. The guest has changed afterwards.
 *
 * @throws RlmError `memory_limit_exceeded` if the next cell could not run for lack of memory;
 * MachineFault if it could not run for another reason
 */
function tryOut(guest: Guest, startCell: StartCell): void {
  const limits = { ...DEFAULT_EXEC_LIMITS, max_execution_ms: TRIAL_MS };
  const input = { source: "1 + 1", state: { ...idleState(), cell: 1, limits }, facts: null };
  // If the exec that ends here was cancelled, that does not concern the next one.
  const tried = guest.clock.ignoringCancel(() =>
    guest.heap.withholding(TRIAL_SPARE_BYTES, () => startCell(guest, input)),
  );
  if (tried.kind === "idle") throw new MachineFault("the guest did not end a cell");
  const { end, clean, asides } = tried;
  const isFull = end.kind === "error" && end.code === "memory_limit_exceeded";
  if (isFull || asides.some(({ why }) => why === OUT_OF_MEMORY)) throw noRoom("another cell");
  // A helper that fails in another way does not make the guest unsound: the next cell reports it.
  if (!clean || (end.kind !== "ok" && asides.length === 0)) throw new MachineFault("the guest cannot run a cell");
}

/** Room that a tried guest must have left. */
const TRIAL_SPARE_BYTES = 2 ** 20;
const TRIAL_MS = 5000;

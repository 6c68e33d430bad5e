import { crc32 } from "node:zlib";

// CRC-32 of pages. Node's own reads 5 GB in a second; pages in a room of WebAssembly's memory are
// first shortened to a sixteenth with the same sum, at 15 GB.

/** `page-sums.wat`, assembled by wat2wasm of wabt 1.0.39. */
const CODE =
  "AGFzbQEAAAABBwFgAn9/AX8DAgEABQMBAAMHFAIGbWVtb3J5AgAHc2hvcnRlbgAACoQDAYEDAgR/AntBgCAhAkGAwAQhA/0M/////wAAAAAAAAAAAAAAACEGIAFBsh9rQUBxIQQgASAEayEFIAQgAGohBANAIAIgBiAA/QAEAP1RIAJBhw9r/QAEAP1RIAJBhRFr/QAEACACQbIfa/0ABAD9Uf1R/QsEACACIAD9AAQQIAJB9w5r/QAEAP1RIAJB9RBr/QAEACACQaIfa/0ABAD9Uf1R/QsEECACIAD9AAQgIAJB5w5r/QAEAP1RIAJB5RBr/QAEACACQZIfa/0ABAD9Uf1R/QsEICACIAD9AAQwIAJB1w5r/QAEAP1RIAJB1RBr/QAEACACQYIfa/0ABAD9Uf1R/QsEMCAHIQYgAEHAAGohACACQcAAaiECIAAgBEkNAAsgAkEAIAX8CwAgACAFaiEEA0AgAyAA/QAEACACQYcPa/0ABAD9USACQYURa/0ABAAgAkGyH2v9AAQA/VH9Uf0LBAAgAEEQaiEAIAJBEGohAiADQRBqIQMgACAESQ0ACyAFCw==";
/** The short text and the room in the memory of the code. */
const SHORT_AT = 73_728;
const ROOM_AT = 131_072;
/** Less is not shortened. */
const LEAST_BYTES = 8192;
/** The code reads some bytes behind a page. */
const BEHIND_BYTES = 64;
const MEMORY_PAGE_BYTES = 64 * 1024;
/** The CRC-32 before it, with which zlib begins with a register of 0. */
const ZERO_REGISTER = 0xffffffff;

/** The memory of the code as bytes, and its function. */
interface Kernel {
  readonly memory: Uint8Array;
  shorten(page: number, bytes: number): number;
}

/** By the memory. */
const kernels = new WeakMap<ArrayBufferLike, Kernel>();
let code: WebAssembly.Module | null | undefined;
/** A room that was given back, for the next one: each takes gigabytes of addresses until it is collected. */
let spare: WeakRef<Buffer> | undefined;

/** Memory for pages that are read, and whose sums are needed. */
export interface PageRoom extends Disposable {
  readonly bytes: Buffer;
}

/** Opens a room. It is used again once it is disposed of. */
export function openPageRoom(bytes: number): PageRoom {
  const found = spare?.deref();
  spare = undefined;
  const room = found && isFor(found, bytes) ? found : newRoom(bytes);
  return {
    bytes: room,
    [Symbol.dispose]() {
      spare = new WeakRef(room);
    },
  };
}

/** True if a room has enough bytes, and not many more, which would be held in vain. */
const isFor = ({ length }: Buffer, bytes: number) => length >= bytes && length <= 2 * bytes;

/** The CRC-32 of a page, wherever it is. */
export function sumOf(page: Uint8Array): number {
  const kernel = page.length < LEAST_BYTES ? undefined : kernels.get(page.buffer);
  if (!kernel) return crc32(page);
  const length = kernel.shorten(page.byteOffset, page.length);
  return crc32(kernel.memory.subarray(SHORT_AT, SHORT_AT + length), ZERO_REGISTER);
}

function newRoom(bytes: number): Buffer {
  code ??= compiled();
  // A processor without the instructions of the code: of x64 those without SSE 4.1.
  if (code === null) return Buffer.allocUnsafeSlow(bytes);
  const { memory, shorten } = new WebAssembly.Instance(code).exports;
  if (!(memory instanceof WebAssembly.Memory) || !isShorten(shorten))
    throw new Error("page-sums.wat has other exports");
  const missing = ROOM_AT + bytes + BEHIND_BYTES - memory.buffer.byteLength;
  memory.grow(Math.max(0, Math.ceil(missing / MEMORY_PAGE_BYTES)));
  kernels.set(memory.buffer, { memory: new Uint8Array(memory.buffer), shorten });
  return Buffer.from(memory.buffer, ROOM_AT, bytes);
}

function compiled(): WebAssembly.Module | null {
  const bytes = Buffer.from(CODE, "base64");
  return WebAssembly.validate(bytes) ? new WebAssembly.Module(bytes) : null;
}

const isShorten = (value: unknown): value is Kernel["shorten"] => typeof value === "function";

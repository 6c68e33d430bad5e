import type { JSValueHandle } from "quickjs-wasi";
import type { HostText } from "../engine.ts";
import { type EnginePlace, MachineFault } from "../engine.ts";
import { PAGE_BYTES } from "../images/image.ts";
import { call, entriesOf, type Instance } from "./instance.ts";

/**
 * Makes strings of the engine from texts of the host, whose characters are written straight into
 * memory.
 */
export interface Strings {
  /**
   * Makes a guest string. A long one is listed from now on.
   *
   * @throws if the guest is out of memory
   */
  place(name: string, text: HostText): JSValueHandle;
  /**
   * Writes a text into an image that was made without it.
   *
   * @throws MachineFault if no such string lies at the place
   */
  writeBack(place: EnginePlace, text: HostText): void;
  places(): readonly EnginePlace[];
  release(name: string): void;
}

/**
 * A string of the engine in memory, as measured with quickjs-wasi 3.6.2: a reference count, then
 * its length with the top bit set if units take two bytes, and its characters 24 bytes after the
 * length. If this does not hold for a string, it is made in the engine's own way and is not listed.
 */
const COUNT_BEFORE = 4;
const CHARACTERS_AFTER = 24;
const WIDE = 0x80000000;
/** The characters with which the prelude's `blank` fills. */
const FILLER = { latin1: Buffer.from(" ".repeat(16), "latin1"), utf16le: Buffer.from("\u0100".repeat(16), "utf16le") };

export function openStrings(instance: Instance): Strings {
  const { vm, raw } = instance;
  const listed = new Map<string, EnginePlace>();
  const bytesAt = ({ address, bytes }: Pick<EnginePlace, "address" | "bytes">) =>
    new Uint8Array(raw.memory.buffer, address, bytes);

  /**
   * The reference count of the string of this shape that has its characters at the place; 0 if
   * there is none.
   */
  function countAt({ address, bytes, encoding }: Pick<EnginePlace, "address" | "bytes" | "encoding">): number {
    const view = new DataView(raw.memory.buffer);
    const start = address - CHARACTERS_AFTER;
    if (start < COUNT_BEFORE || address + bytes > view.byteLength) return 0;
    const length = encoding === "latin1" ? bytes : bytes / 2 + WIDE;
    return view.getUint32(start, true) === length ? view.getInt32(start - COUNT_BEFORE, true) : 0;
  }

  const isBlank = (place: Omit<EnginePlace, "name">) => {
    const memory = bytesAt(place);
    const filler = FILLER[place.encoding];
    return (
      filler.compare(memory, 0, filler.length) === 0 && filler.compare(memory, memory.length - filler.length) === 0
    );
  };

  return {
    place(name: string, text: HostText): JSValueHandle {
      if (text.bytes < PAGE_BYTES) return vm.newString(text.toString());
      const string = blank(instance, text);
      const address = raw.qjs_get_value_ptr(string.ptr) + CHARACTERS_AFTER;
      const place = { name, encoding: text.encoding, address, bytes: text.bytes };
      if (countAt(place) !== 1 || !isBlank(place)) {
        string.dispose();
        return vm.newString(text.toString());
      }
      text.write(bytesAt(place));
      listed.set(name, place);
      return string;
    },
    writeBack(place: EnginePlace, text: HostText): void {
      if (text.encoding !== place.encoding || text.bytes !== place.bytes || countAt(place) < 1) {
        throw new MachineFault(`the image holds no string for the text ${place.name}`);
      }
      text.write(bytesAt(place));
      listed.set(place.name, place);
    },
    places(): readonly EnginePlace[] {
      for (const [name, place] of listed) if (countAt(place) < 1) listed.delete(name);
      return [...listed.values()];
    },
    release(name: string): void {
      const place = listed.get(name);
      if (place && countAt(place) === 1) bytesAt(place).fill(0);
      listed.delete(name);
    },
  };
}

/** A string of as many filler characters as the text has. @throws if the guest is out of memory */
function blank(instance: Instance, { units, encoding }: HostText): JSValueHandle {
  const { vm } = instance;
  using count = vm.newNumber(units);
  return call(instance, entriesOf(instance).blank, count, encoding === "utf16le" ? vm.true : vm.false);
}

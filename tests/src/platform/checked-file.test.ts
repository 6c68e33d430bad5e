import { hash } from "node:crypto";
import fs, {
  copyFileSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { RlmError } from "../../../runtime/errors.ts";
import {
  checkedBytes,
  isIntact,
  isKnownDamaged,
  openChecked,
  PAGE_BYTES,
  writeChecked,
} from "../../../src/platform/checked-file.ts";
import { flipByte } from "../../support/flip-byte.ts";
import { folderWith } from "../../support/tree.ts";

/** Bytes of which no two pages are equal. */
function bytesOf(length: number): Buffer {
  const bytes = Buffer.alloc(length);
  for (let at = 0; at < length; at++) bytes[at] = (at * 31 + (at >> 8) * 7 + (at >> 16) * 13) & 0xff;
  return bytes;
}

function written(bytes: Uint8Array, folder = folderWith(), name?: string): string {
  const file = writeChecked(folder, name);
  file.put(bytes);
  return file.end().path;
}

/** The bytes of a checked file; null if reading them says that they are lost. */
function readAll(path: string): Buffer | null {
  try {
    using file = openChecked(path);
    return file.read(0, file.length);
  } catch (error) {
    if (error instanceof RlmError && error.code === "context_lost") return null;
    throw error;
  }
}

const MANY = 20 * PAGE_BYTES;
const LENGTHS = [0, 1, PAGE_BYTES - 1, PAGE_BYTES, PAGE_BYTES + 1, 16 * PAGE_BYTES, MANY - 1, MANY, MANY + 1];

describe.each(LENGTHS)("%d bytes", (length) => {
  test("are read as they were written, under the name of their hash", () => {
    const folder = folderWith();
    const bytes = bytesOf(length);
    const file = writeChecked(folder);
    for (let at = 0; at < length; at += 99_991) file.put(bytes.subarray(at, at + 99_991));
    expect(file.length()).toBe(length);
    expect(readdirSync(folder)).toEqual([expect.stringMatching(/^[-0-9a-f]{36}\.\d+\.tmp$/)]);
    const name = hash("sha256", bytes);
    expect(file.end()).toEqual({ path: join(folder, name), hash: name, bytes: length });
    file.drop();
    expect(readdirSync(folder)).toEqual([name]);
    expect(readAll(join(folder, name))?.equals(bytes)).toBe(true);
    expect([checkedBytes(join(folder, name)), isIntact(join(folder, name))]).toEqual([length, true]);
  });

  test("are read by any range, with room and without", () => {
    const bytes = bytesOf(length);
    using file = openChecked(written(bytes));
    const borders = [0, PAGE_BYTES, 2 * PAGE_BYTES, 17 * PAGE_BYTES, length];
    const places = borders.flatMap((at) => [at - 1, at, at + 1]).filter((at) => at >= 0 && at <= length);
    for (const room of [undefined, Buffer.alloc(100), Buffer.alloc(3 * PAGE_BYTES), Buffer.alloc(MANY + PAGE_BYTES)])
      for (const from of places)
        for (const to of places)
          if (from <= to && !file.read(from, to, room).equals(bytes.subarray(from, to)))
            expect([from, to, room?.length]).toBe("equal");
  });
});

test("any flipped byte of a small file is found", () => {
  const bytes = Buffer.from("some text that is damaged\n");
  const path = written(bytes);
  for (let at = 0; at < statSync(path).size; at++) {
    flipByte(path, at, 1 << (at % 8));
    expect([at, readAll(path), isIntact(path)]).toEqual([at, null, false]);
    flipByte(path, at, 1 << (at % 8));
  }
  expect(readAll(path)?.equals(bytes)).toBe(true);
});

test("a file that is cut anywhere, or longer than it was, is refused when it is opened", () => {
  const folder = folderWith();
  const path = written(bytesOf(2 * PAGE_BYTES + 100), folder);
  const whole = readFileSync(path);
  const copy = join(folder, "copy");
  const cuts = [0, 1, 11, 12, 13, 100, PAGE_BYTES, 2 * PAGE_BYTES + 100, whole.length - 12, whole.length - 4];
  for (const length of [...cuts, whole.length - 1]) {
    copyFileSync(path, copy);
    truncateSync(copy, length);
    expect(() => openChecked(copy)).toThrow(`${copy} was cut, or its end is damaged`);
  }
  writeFileSync(copy, Buffer.concat([whole, Buffer.from("more")]));
  expect(() => openChecked(copy)).toThrow("was cut, or its end is damaged");
  expect([checkedBytes(copy), isIntact(copy)]).toEqual([null, false]);
});

test("the failure of a file names what is wrong with it, and what helps", () => {
  const path = written(bytesOf(3 * PAGE_BYTES));
  flipByte(path, PAGE_BYTES + 1);
  using file = openChecked(path);
  expect(file.read(0, PAGE_BYTES).length).toBe(PAGE_BYTES);
  expect(() => file.read(0, PAGE_BYTES + 1)).toThrow(
    expect.objectContaining({
      code: "context_lost",
      message: `${path} is damaged in the 64 KB that begin at 65536`,
      suggestion: "Load the context again.",
    }),
  );
  expect(() => file.read(0, 3 * PAGE_BYTES)).toThrow("that begin at 65536");
  expect(file.read(2 * PAGE_BYTES, 3 * PAGE_BYTES).length).toBe(PAGE_BYTES);
  expect(() => openChecked("/nowhere/text")).toThrow("/nowhere/text is missing");
  expect([checkedBytes("/nowhere/text"), isIntact("/nowhere/text")]).toEqual([null, false]);
});

test("a page that the disk does not give is lost as a damaged one is", () => {
  const path = written(bytesOf(9 * PAGE_BYTES));
  using file = openChecked(path);
  const real = fs.readSync;
  const spy = vi.spyOn(fs, "readSync").mockImplementation((...given: unknown[]) => {
    const [descriptor, bytes, offset, length, at] = given as [number, Buffer, number, number, number];
    // The system gives what is before the place.
    const before = 5 * PAGE_BYTES - at;
    if (before === 0) throw Object.assign(new Error("EIO"), { code: "EIO" });
    return real(descriptor, bytes, offset, before > 0 ? Math.min(length, before) : length, at);
  });
  syncBuiltinESMExports();
  onTestFinished(() => {
    spy.mockRestore();
    syncBuiltinESMExports();
  });
  expect(() => file.read(0, 9 * PAGE_BYTES)).toThrow(
    expect.objectContaining({
      code: "context_lost",
      message: `${path} cannot be read (EIO) in the 64 KB that begin at ${5 * PAGE_BYTES}`,
      suggestion: "Load the context again.",
    }),
  );
  expect([isIntact(path), isKnownDamaged(path)]).toEqual([false, true]);
  expect(file.read(0, 4 * PAGE_BYTES).length).toBe(4 * PAGE_BYTES);
});

test("a file that is cut while it is open is damaged where bytes are missing", () => {
  const path = written(bytesOf(3 * PAGE_BYTES));
  using file = openChecked(path);
  truncateSync(path, PAGE_BYTES + 10);
  expect(() => file.read(0, 3 * PAGE_BYTES)).toThrow("that begin at 65536");
  expect(file.read(10, 20).length).toBe(10);
});

test("equal bytes stay where they are, and damaged ones are replaced", () => {
  const folder = folderWith();
  const bytes = bytesOf(2 * PAGE_BYTES);
  const path = written(bytes, folder);
  const { ino } = statSync(path);
  written(bytes, folder);
  expect([statSync(path).ino, readdirSync(folder).length]).toEqual([ino, 1]);
  for (const damage of [
    () => flipByte(path, 5),
    () => truncateSync(path, 50),
    () => copyFileSync(written(bytesOf(9)), path),
  ]) {
    using open = openChecked(path);
    damage();
    written(bytes, folder);
    expect([readAll(path)?.equals(bytes), readdirSync(folder).length, open.length]).toEqual([true, 1, bytes.length]);
  }
});

test("a page that was found damaged leaves a mark, until the bytes are written again", () => {
  const folder = folderWith();
  const bytes = bytesOf(2 * PAGE_BYTES);
  const path = written(bytes, folder);
  flipByte(path, 5);
  expect([isKnownDamaged(path), readAll(path), isKnownDamaged(path)]).toEqual([false, null, true]);
  written(bytes, folder);
  expect([isKnownDamaged(path), readdirSync(folder)]).toEqual([false, [hash("sha256", bytes)]]);
  const named = written(bytes, folder, "index.3");
  flipByte(named, 5);
  expect([readAll(named), isKnownDamaged(named)]).toEqual([null, false]);
});

test("a file with a name replaces the one that had it", () => {
  const folder = folderWith();
  const path = written(Buffer.from("one"), folder, "index.3");
  expect(path).toBe(join(folder, "index.3"));
  written(Buffer.from("two"), folder, "index.3");
  expect([readAll(path)?.toString(), readdirSync(folder)]).toEqual(["two", ["index.3"]]);
});

test("a file that is dropped leaves nothing, and one that cannot get its name neither", () => {
  const folder = folderWith({ "taken/full": "" });
  const dropped = writeChecked(folder);
  dropped.put(bytesOf(MANY));
  dropped.drop();
  dropped.drop();
  const refused = writeChecked(folder, "taken");
  refused.put(Buffer.from("one"));
  expect(() => refused.end()).toThrow();
  refused.drop();
  expect(readdirSync(folder)).toEqual(["taken"]);
});

test("a file is not read after it was closed", () => {
  const file = openChecked(written(Buffer.from("one")));
  file[Symbol.dispose]();
  file[Symbol.dispose]();
  expect(() => file.read(0, 1)).toThrow("after it was closed");
});

test("what is read of one file is never that of another one", () => {
  const paths = Array.from({ length: 20 }, (_, n) => written(Buffer.alloc(20 * PAGE_BYTES, n)));
  for (let round = 0; round < 2; round++)
    for (const [n, path] of paths.entries()) {
      using file = openChecked(path);
      for (let page = 0; page < 20; page++) expect(file.read(page * PAGE_BYTES, page * PAGE_BYTES + 1)[0]).toBe(n);
    }
});

test("a file that was forgotten is closed, but not as long as it can be read or closed", async ({ skip }) => {
  skip(process.platform !== "linux", "open files are listed on Linux alone");
  setFlagsFromString("--expose-gc");
  const collectGarbage = runInNewContext("gc");
  const folder = folderWith();
  const writer = writeChecked(folder);
  writer.put(Buffer.from("text"));
  const { path } = writer.end();
  const open = () => readdirSync("/proc/self/fd").filter((fd) => linkOf(fd) === path).length;
  const { read, ...rest } = openChecked(path);
  for (let n = 0; n < 20; n++) openChecked(path);
  await vi.waitFor(() => {
    collectGarbage();
    expect(open()).toBe(1);
  });
  expect(read(0, 4).toString()).toBe("text");
  rest[Symbol.dispose]();
  expect(open()).toBe(0);
});

function linkOf(fd: string): string | null {
  try {
    return readlinkSync(`/proc/self/fd/${fd}`);
  } catch {
    return null;
  }
}

test("places that are not in a file are lost by name", () => {
  const writer = writeChecked(folderWith());
  writer.put(Buffer.from("text"));
  using file = openChecked(writer.end().path);
  for (const [from, to] of [
    [0, 5],
    [-1, 2],
    [2 ** 52, 2 ** 53],
    [0, Number.POSITIVE_INFINITY],
  ] as const) {
    expect(() => file.read(from, to)).toThrow(expect.objectContaining({ code: "context_lost" }));
  }
});

import { expect, test } from "vitest";
import { sha256 } from "../../../../src/pi/read-cache/file.ts";
import { openTexts } from "../../../../src/pi/read-cache/texts.ts";

/** A store in memory that says what it was asked. */
function store(rows = new Map<string, string>()) {
  const asked: string[] = [];
  return {
    rows,
    asked,
    async keep(hash: string, text: string) {
      asked.push(`keep ${text}`);
      rows.set(hash, text);
    },
    async read(hash: string) {
      asked.push("read");
      return rows.get(hash) ?? null;
    },
  };
}

test("a text is read from memory, and by the next process from the store", async () => {
  const kept = store();
  const texts = openTexts(kept);
  texts.keep(sha256("one"), "one");
  texts.keep(sha256("one"), "one");
  await texts.settled();
  expect(await texts.read(sha256("one"))).toBe("one");
  expect(kept.asked).toEqual(["keep one"]);
  expect(await openTexts(store(kept.rows)).read(sha256("one"))).toBe("one");
});

test("a text that is lost or damaged is not there", async () => {
  const texts = openTexts(store(new Map([[sha256("one"), "two"]])));
  expect(await texts.read(sha256("one"))).toBeNull();
  expect(await texts.read(sha256("two"))).toBeNull();
  expect(texts.problem()).toBeNull();
});

test("65 texts are too many for the memory, and a store that fails is told of until it works", async () => {
  let fails = true;
  const texts = openTexts({
    async keep() {
      if (fails) throw new Error("the disk is full");
    },
    async read() {
      throw new Error("no store");
    },
  });
  for (let n = 0; n < 65; n++) {
    texts.keep(sha256(`${n}`), `${n}`);
    await texts.settled();
  }
  expect(texts.problem()).toBe("the disk is full");
  expect(await texts.read(sha256("64"))).toBe("64");
  expect(await texts.read(sha256("0"))).toBeNull();
  expect(texts.problem()).toBe("no store");
  fails = false;
  texts.keep(sha256("64"), "64");
  await texts.settled();
  expect(texts.problem()).toBeNull();
});

test("a store that does not answer is not handed more and more texts", async () => {
  let asked = 0;
  const texts = openTexts({ keep: () => new Promise(() => void asked++), read: async () => null });
  for (let n = 0; n < 100; n++) texts.keep(sha256(`${n}`), `${n}`);
  expect(asked).toBe(64);
});

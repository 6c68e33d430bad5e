import type { SuiteName } from "../../../src/eval/suites.ts";

// What each question asks, worked out from the texts alone: nothing of the generators is used.

const LABELS: Readonly<Record<string, RegExp>> = {
  complaint: /arrived broken|stopped working|charged twice|nobody answers|far smaller/,
  question: /^which sizes|^can the|^how long|^what colour|^when will/,
  praise: /best one|loves the|fine work|what a joy|to all my guests/,
  order: /three more|on my account|in blue|a second|reserve a/,
  cancellation: /off my list|no longer want|stop the parcel|send no|rather not/,
};

const recordsIn = (texts: readonly string[]) =>
  texts.flatMap((text) =>
    text
      .trimEnd()
      .split("\n")
      .map((line) => {
        const [who = "", town = "", said = ""] = line.split(" | ");
        const labels = Object.keys(LABELS).filter((label) => LABELS[label]?.test(said));
        return {
          who,
          town,
          label: labels.length === 1 ? labels[0] : `${said} is ${labels.join(" and ") || "nothing"}`,
        };
      }),
  );

const only = (text: string, pattern: RegExp): string => pattern.exec(text)?.[1] ?? "";

type Reader = (question: string, texts: readonly string[]) => string | number | readonly string[];

const numbersOf: Reader = (question, [text = ""]) => {
  const vaults = [...question.matchAll(/\b[A-Z][a-z]+(?=\?| and|\? There)/g)]
    .map(([name]) => name)
    .filter((name) => name !== "Which");
  return vaults.flatMap((vault) =>
    [...text.matchAll(new RegExp(`vault of ${vault} is (\\d+)`, "g"))].map(([, number = ""]) => number),
  );
};

export const READERS: Readonly<Record<SuiteName, Reader>> = {
  needle: (question, texts) => [numbersOf(question, texts)].flat().join(),
  needles: numbersOf,
  count(question, texts) {
    const [town, label] = [only(question, /messages from (\w+)/), only(question, /kind (\w+)\?/)];
    return recordsIn(texts).filter((record) => record.town === town && record.label === label).length;
  },
  pairs(_question, texts) {
    const leaving = recordsIn(texts).filter(({ label }) => label === "cancellation");
    return leaving.flatMap((one) =>
      leaving
        .filter((other) => other.town === one.town && other.who > one.who)
        .map((other) => `${one.who}-${other.who}`),
    );
  },
  chain(question, texts) {
    const fact = (pattern: string) => only(texts.join(""), new RegExp(pattern));
    const captain = fact(`captain of the ship ${only(question, /ship (\w+)/)} is (\\w+)`);
    const house = fact(`${captain} lives in the house that is called (\\w+)`);
    return fact(`mayor of ${fact(`The house ${house} lies in the town of (\\w+)`)} is (\\w+)`);
  },
  code(_question, texts) {
    const bodies = new Map(
      texts.flatMap((text) => text.split(/^(?=export)/m)).map((source) => [only(source, /function (\w+)/), source]),
    );
    const writes = (name: string): boolean => {
      const called = only(bodies.get(name) ?? "", /return await ([\w.]+)\(/);
      return called === "db.write" || (!called.startsWith("db.") && writes(called));
    };
    return [...bodies.keys()].filter(
      (name) => name.startsWith("handle") && !bodies.get(name)?.includes("requireRole") && writes(name),
    );
  },
};

import { expect, test } from "vitest";
import { shortened } from "../../../src/tools/session-report.ts";
import { contextOf, convertedFile, textFile } from "../../support/converted.ts";

test("of converted documents a model is told of the first 20 that have lost something", async () => {
  const lost = [{ kind: "image", count: 1, where: [] }];
  const whole = convertedFile("whole.pdf", []);
  const files = Array.from({ length: 30 }, (_, n) => convertedFile(`${n}.pdf`, [], { lost }));
  const { converted } = shortened((await contextOf([whole, ...files])).stats);
  expect(converted).toMatchObject({ count: 31, lossy: 30, lost: { image: 30 } });
  expect(converted?.files.map(({ id }) => id)).toEqual(files.slice(0, 20).map(({ relative }) => relative));
  expect(shortened((await contextOf([textFile("a.txt", "")])).stats)).not.toHaveProperty("converted");
});

import { visibleWidth } from "@mariozechner/pi-tui";
import { expect, test } from "vitest";
import { openInspector } from "../../../../src/pi/view/inspector.ts";
import { type Item, item } from "../../../../src/pi/view/item.ts";

const PAINT = { fg: (_colour: string, text: string) => text, bold: (text: string) => text };
const KEY = {
  ...{ up: "\u001b[A", down: "\u001b[B", right: "\u001b[C", pageUp: "\u001b[5~", pageDown: "\u001b[6~" },
  ...{ home: "\u001b[H", end: "\u001b[F", enter: "\r", escape: "\u001b", backspace: "\u007f" },
} as const;

function inspector(items: readonly Item[], rows = 15) {
  const counts = { redrawn: 0, closed: 0 };
  const place = { rows: () => rows, redraw: () => void counts.redrawn++, close: () => void counts.closed++ };
  const shown = openInspector("RLM inspector", items, PAINT, place);
  return {
    counts,
    render: shown.render,
    /** The items or the text that show, and the line of the place, with these keys pressed before. */
    screen(keys: readonly string[] = [], width = 60) {
      for (const key of keys) shown.handleInput(key);
      const lines = shown.render(width).map((line) => line.trimEnd());
      return { body: lines.slice(2, -3).filter((line) => line !== ""), place: lines.at(-3) };
    },
  };
}

const items = Array.from({ length: 30 }, (_, n) =>
  item(1, "plain", [`text ${n + 1}`, n % 2 === 0 ? "even steps" : "odd"], () => `whole of ${n + 1}\nsecond line`),
);
const HEADED = [item(0, "heading", ["texts"]), ...items];

test("arrows, pages, home and end move through the items, and what is chosen stays in sight", () => {
  const { screen } = inspector(HEADED);
  expect(screen()).toMatchObject({
    body: expect.arrayContaining(["› texts", "    text 1  even steps"]),
    place: "1 of 31",
  });
  expect(screen().body).toHaveLength(10);
  expect(screen([KEY.down, KEY.down]).place).toBe("3 of 31");
  expect(screen([KEY.pageDown]).place).toBe("13 of 31");
  expect(screen([KEY.end])).toMatchObject({ place: "31 of 31", body: expect.arrayContaining(["›   text 30  odd"]) });
  expect(screen([KEY.down]).place).toBe("31 of 31");
  expect(screen([KEY.pageUp, KEY.up]).place).toBe("20 of 31");
  expect(screen([KEY.home, KEY.up])).toMatchObject({ place: "1 of 31", body: expect.arrayContaining(["› texts"]) });
  expect(screen(["G", "g", "j", "k", "j"]).place).toBe("2 of 31");
});

test("slash filters by words while they are typed, and Escape goes back level by level", () => {
  const { screen, counts } = inspector(HEADED);
  expect(screen(["/", "o", "d", "q"])).toEqual({ body: ["  nothing has these words"], place: "none · /odq▏" });
  expect(screen([KEY.backspace, "d", " ", "1"]).place).toBe("1 of 5 · /odd 1▏");
  expect(screen([KEY.enter, KEY.down])).toMatchObject({ place: "2 of 5 · /odd 1" });
  expect(screen([KEY.enter]).body).toEqual(["whole of 12", "second line"]);
  expect(screen([KEY.escape]).place).toBe("2 of 5 · /odd 1");
  expect(screen([KEY.escape]).place).toBe("1 of 31");
  expect(counts.closed).toBe(0);
  screen([KEY.escape]);
  screen(["q"]);
  expect(counts.closed).toBe(2);
  expect(screen(["/", "x", KEY.escape]).place).toBe("1 of 31");
});

test("Enter opens the whole of an item, which scrolls; a heading has no more to say", () => {
  const long = item(1, "plain", ["long"], () => Array.from({ length: 50 }, (_, n) => `line ${n + 1}`).join("\n"));
  const { screen } = inspector([item(0, "heading", ["texts"]), long]);
  expect(screen([KEY.enter]).place).toBe("1 of 2");
  const seen = screen([KEY.down, KEY.right]);
  expect(seen).toMatchObject({ place: "line 1 of 50", body: expect.arrayContaining(["line 10"]) });
  expect(screen([KEY.pageDown, KEY.down]).body[0]).toBe("line 12");
  expect(screen([KEY.end]).body.at(-1)).toBe("line 50");
  expect(screen([KEY.up]).body[0]).toBe("line 40");
  expect(screen([KEY.home]).body[0]).toBe("line 1");
});

const HOSTILE = [
  "\u001b]0;owned\u0007\u001b[2J\u001b[31mred",
  "a\u202egnp.exe",
  "line\u2028end\u2029s\r\nhere",
  "lone \ud800 half",
  "\u009b31m C1",
  "wide 漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字",
  "x".repeat(1_000_000),
];

test("names and texts cannot steer the terminal, and every line keeps to its width", () => {
  const hostile = HOSTILE.map((text) => item(3, "bad", [text], () => text));
  for (const width of [1, 7, 40, 200]) {
    const { render, screen } = inspector(hostile, 20);
    for (const keys of [[], [KEY.enter], [KEY.escape], ...HOSTILE.map(() => [KEY.down, KEY.enter, KEY.escape])]) {
      screen(keys, width);
      const lines = render(width);
      for (const line of lines) expect(visibleWidth(line)).toBe(width);
      // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there
      const steering = /[\x00-\x1a\x1c-\x1f\x7f-\x9f\u202a-\u202e\u2028\u2029]|\x1b(?!\[0m)/;
      expect(lines.join("")).not.toMatch(steering);
    }
  }
});

test("a paste into the filter is taken without what a terminal puts around it", () => {
  const { screen } = inspector(HEADED);
  expect(screen(["/", "\u001b[200~rm -rf\u001b[201~", "odd 12"]).place).toBe("1 of 1 · /odd 12▏");
});

test("2,000 items and a text of a megabyte are drawn at once", () => {
  const many = Array.from({ length: 2000 }, (_, n) => item(1, "plain", [`text ${n}`], () => "y".repeat(1_000_000)));
  const { screen } = inspector(many);
  expect(screen([KEY.end]).place).toBe("2000 of 2000");
  const { place, body } = screen([KEY.enter, KEY.end], 100);
  expect(place).toMatch(/^line 1,99\d of 2,00\d$/);
  expect(body.at(-1)).toBe("… 800,000 more characters");
});

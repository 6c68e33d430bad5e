import { type Measured, median, p95 } from "./measure.ts";

/** What a part of the bench found. */
export interface Report {
  readonly title: string;
  readonly cases: readonly Case[];
  readonly aims: readonly Aim[];
  /** What a reader must know to read the figures rightly. */
  readonly notes?: readonly string[];
}

/** One piece of work, done by several: Belay comes first, and the others are compared with it. */
export interface Case {
  readonly name: string;
  readonly measured: readonly Measured[];
  /** A remark on a contestant, by its name. */
  readonly remarks?: Readonly<Record<string, string>>;
}

export interface Aim {
  readonly text: string;
  /** The value as it is printed, with its unit. */
  readonly value: string;
  readonly met: boolean;
}

/** An aim that a value is at most so much. */
export function aimAtMost(text: string, value: number, most: number, unit: string): Aim {
  return { text, value: `${value.toFixed(value < 10 ? 2 : 1)}${unit}`, met: value <= most };
}

/** A contestant's figures, ms; null if it never came to an end. */
export interface Figures {
  readonly contestant: string;
  readonly unit: "ms";
  readonly median: number | null;
  readonly p95: number | null;
  readonly samples: number;
  /** Belay's median divided by this one's: below 1, Belay is faster. Null for Belay itself. */
  readonly belay_ratio: number | null;
  readonly remark: string | null;
}

export function figuresOf({ measured, remarks }: Case): Figures[] {
  const [belay] = measured;
  return measured.map((one) => {
    const { name, samples, gaveUp } = one;
    const middle = finite(median(samples));
    const ratio = belay === one ? null : finite(median(belay?.samples ?? []) / median(samples));
    const remark = [gaveUp ? "did not end" : "", remarks?.[name] ?? ""].join(" ").trim();
    return {
      contestant: name,
      unit: "ms",
      median: middle,
      p95: finite(p95(samples)),
      samples: samples.length,
      belay_ratio: ratio,
      remark: remark || null,
    };
  });
}

/** The report as aligned plain text. */
export function printed({ title, cases, aims, notes = [] }: Report): string {
  const rows = cases.flatMap((one) =>
    figuresOf(one).map((figures, index) => [
      index === 0 ? one.name : "",
      figures.contestant,
      milliseconds(figures.median),
      milliseconds(figures.p95),
      String(figures.samples),
      figures.belay_ratio === null ? "" : figures.belay_ratio.toPrecision(2),
      figures.remark ?? "",
    ]),
  );
  return [
    title,
    ...(rows.length > 0 ? aligned([HEADINGS, ...rows]) : []),
    ...notes.map((note) => `  note: ${note}`),
    ...aims.map(({ text, value, met }) => `  aim: ${text}: ${value} — ${met ? "met" : "missed"}`),
  ].join("\n");
}

const HEADINGS = ["case", "contestant", "median", "p95", "n", "Belay ÷ it", ""];
const NUMERIC_COLUMNS = [2, 3, 4, 5];

function aligned(rows: readonly (readonly string[])[]): string[] {
  const width = (column: number) => Math.max(...rows.map((row) => row[column]?.length ?? 0));
  const widths = HEADINGS.map((_, column) => width(column));
  return rows.map((row) => {
    const cells = row.map((cell, column) => {
      const size = widths[column] ?? 0;
      return NUMERIC_COLUMNS.includes(column) ? cell.padStart(size) : cell.padEnd(size);
    });
    return `  ${cells.join("  ")}`.trimEnd();
  });
}

function milliseconds(value: number | null): string {
  return value === null ? "–" : `${value.toFixed(value < 10 ? 2 : value < 100 ? 1 : 0)} ms`;
}

function finite(value: number): number | null {
  return Number.isFinite(value) ? value : null;
}

// Contracts, reports and letters by the packages docx and odf-kit.
import {
  AlignmentType,
  CheckBox,
  CommentRangeEnd,
  CommentRangeStart,
  CommentReference,
  DeletedTextRun,
  Document,
  EndnoteReferenceRun,
  Math as Equation,
  ExternalHyperlink,
  Footer,
  FootnoteReferenceRun,
  Header,
  HeadingLevel,
  InsertedTextRun,
  LevelFormat,
  MathFraction,
  MathRadical,
  MathRun,
  MathSubScript,
  MathSuperScript,
  Packer,
  PageNumber,
  Paragraph,
  SymbolRun,
  Tab,
  Table,
  TableCell,
  TableOfContents,
  TableRow,
  TextRun,
} from "docx";
import { OdtDocument } from "odf-kit";
import { write } from "./write.js";

const level = (level, format, text) => ({ level, format, text, alignment: AlignmentType.LEFT });
const CLAUSES = {
  reference: "clauses",
  levels: [
    level(0, LevelFormat.DECIMAL, "%1."),
    level(1, LevelFormat.DECIMAL, "%1.%2"),
    level(2, LevelFormat.LOWER_LETTER, "(%3)"),
    level(3, LevelFormat.LOWER_ROMAN, "(%4)"),
  ],
};
const ARTICLES = { reference: "articles", levels: [level(0, LevelFormat.UPPER_ROMAN, "Article %1.")] };
const DOTS = { reference: "dots", levels: [level(0, LevelFormat.BULLET, "•"), level(1, LevelFormat.BULLET, "◦")] };
const STEPS = { reference: "steps", levels: [{ ...level(0, LevelFormat.DECIMAL, "Step %1:"), start: 3 }] };
const LETTERS = { reference: "letters", levels: [level(0, LevelFormat.UPPER_LETTER, "%1)")] };
const numbering = { config: [CLAUSES, ARTICLES, DOTS, STEPS, LETTERS] };

const text = (said) => new Paragraph(said);
const item = (reference, level, said) => new Paragraph({ text: said, numbering: { reference, level } });
const cell = (said, more = {}) => new TableCell({ children: [text(said)], ...more });
const row = (...cells) => new TableRow({ children: cells });

async function save(name, children, more = {}) {
  const { section = {}, ...whole } = more;
  const document = new Document({ numbering, ...whole, sections: [{ ...section, children }] });
  write(name, await Packer.toBuffer(document));
}

await save("lease.docx", [
  new Paragraph({ text: "Lease", heading: HeadingLevel.TITLE }),
  item("clauses", 0, "Definitions"),
  item("clauses", 1, "Landlord means Anna Berg."),
  item("clauses", 1, "Tenant means:"),
  item("clauses", 2, "Ben Cole, and"),
  item("clauses", 2, "whoever lives with him."),
  item("clauses", 3, "Guests do not live with him."),
  item("clauses", 0, "Rent"),
  item("clauses", 1, "The rent is 1,200 euros."),
  item("clauses", 2, "It is due on the 3rd day."),
  text("The parties agree to all of this."),
  item("clauses", 1, "See clause 1.2 for who pays."),
]);
await save("statutes.docx", [
  new Paragraph({ text: "Name", heading: HeadingLevel.HEADING_1, numbering: { reference: "articles", level: 0 } }),
  text("The club is called Gull."),
  new Paragraph({ text: "Members", heading: HeadingLevel.HEADING_1, numbering: { reference: "articles", level: 0 } }),
  item("letters", 0, "Full members"),
  item("letters", 0, "Guests"),
  item("dots", 0, "They pay"),
  item("dots", 1, "in May"),
  item("steps", 0, "Write to the board."),
  item("steps", 0, "Wait for a month."),
]);
await save("budget.docx", [
  text("Budget of the year"),
  new Table({
    rows: [
      row(cell("Region"), cell("Spring"), cell("Summer"), cell("Autumn")),
      row(cell("North"), cell("n/a", { columnSpan: 2 }), cell("33")),
      row(cell("South", { rowSpan: 2 }), cell("4"), cell("5"), cell("6")),
      row(cell("7"), cell("8"), cell("9")),
    ],
  }),
  text("Behind the table."),
]);
await save(
  "study.docx",
  [
    new Paragraph({
      children: [
        new TextRun("We counted 4,217"),
        new TextRun({ text: "1", superScript: true }),
        new TextRun(" birds on 10"),
        new TextRun({ text: "6", superScript: true }),
        new TextRun(" m"),
        new TextRun({ text: "2", superScript: true }),
        new TextRun(" on the 1"),
        new TextRun({ text: "st", superScript: true }),
        new TextRun(" of May, and CO"),
        new TextRun({ text: "2", subScript: true }),
        new TextRun(" in the air."),
      ],
    }),
    new Paragraph({
      children: [new TextRun("Notes are read"), new FootnoteReferenceRun(1), new TextRun(", both of them.")],
    }),
    new Paragraph({ children: [new TextRun("The last claim"), new FootnoteReferenceRun(2)] }),
    new Paragraph({ children: [new TextRun("And one at the end"), new EndnoteReferenceRun(1)] }),
  ],
  {
    footnotes: { 1: { children: [text("Counted from a boat.")] }, 2: { children: [text("Not by us.")] } },
    endnotes: { 1: { children: [text("Data at request.")] } },
  },
);
await save("formula.docx", [
  text("The law of the triangle:"),
  new Paragraph({
    children: [
      new Equation({
        children: [
          new MathSuperScript({ children: [new MathRun("c")], superScript: [new MathRun("2")] }),
          new MathRun(" = "),
          new MathFraction({ numerator: [new MathRun("a+b")], denominator: [new MathRun("2")] }),
          new MathRun(" + "),
          new MathRadical({ children: [new MathRun("x")] }),
          new MathRun(" + "),
          new MathSubScript({ children: [new MathRun("y")], subScript: [new MathRun("1")] }),
        ],
      }),
    ],
  }),
  text("Behind it."),
]);
await save(
  "draft.docx",
  [
    new Paragraph({
      children: [
        new CommentRangeStart(0),
        new TextRun("The price is "),
        new DeletedTextRun({ text: "ninety", id: 1, author: "A", date: "2026-01-01T00:00:00Z" }),
        new InsertedTextRun({ text: "eighty", id: 2, author: "A", date: "2026-01-01T00:00:00Z" }),
        new TextRun(" euros."),
        new CommentRangeEnd(0),
        new TextRun({ children: [new CommentReference(0)] }),
      ],
    }),
    new Paragraph({
      children: [
        new TextRun("Name:"),
        new TextRun({ children: [new Tab(), "Ann"] }),
        new TextRun({ text: "next line", break: 1 }),
      ],
    }),
    new Paragraph({
      children: [
        new ExternalHyperlink({ link: "https://example.com/price", children: [new TextRun("the list of prices")] }),
      ],
    }),
    new Paragraph({
      children: [
        new TextRun("Agreed "),
        new CheckBox({ checked: true }),
        new TextRun(" refused "),
        new CheckBox({ checked: false }),
        new TextRun(" angle "),
        new SymbolRun({ char: "F061", symbolfont: "Symbol" }),
      ],
    }),
  ],
  {
    comments: { children: [{ id: 0, author: "Bo", date: new Date(0), children: [text("Too cheap?")] }] },
    section: {
      headers: { default: new Header({ children: [text("Confidential header")] }) },
      footers: {
        default: new Footer({
          children: [new Paragraph({ children: [new TextRun({ children: [PageNumber.CURRENT] })] })],
        }),
      },
    },
  },
);
await save(
  "report.docx",
  [
    new TableOfContents("Contents", { headingStyleRange: "1-2" }),
    new Paragraph({ text: "Results", heading: HeadingLevel.HEADING_1 }),
    text("Sales rose by 12 %."),
    new Paragraph({ text: "By month", heading: HeadingLevel.HEADING_2 }),
    new Table({
      rows: [
        row(cell("Month"), cell("Sum")),
        row(cell("May"), new TableCell({ children: [new Table({ rows: [row(cell("in"), cell("out"))] })] })),
      ],
    }),
    new Paragraph({ children: [new TextRun({ text: "small caps", smallCaps: true })] }),
  ],
  { section: { properties: { column: { count: 2, space: 700 } } } },
);

const letter = new OdtDocument();
letter.addHeading("Offer", 1);
letter.addParagraph("Dear Ms Li,");
letter.addParagraph((line) => {
  line.addText("we offer 10");
  line.addText("6", { superscript: true });
  line.addText(" screws of CO");
  line.addText("2", { subscript: true });
  line.addText(" steel.");
});
letter.addList(["first", "second", "third"], { type: "numbered" });
letter.addList(["iron", "wood"]);
letter.addTable([
  ["Item", "Price"],
  ["Screw", "0.10"],
]);
letter.setHeader("Head of the letter");
write("offer.odt", Buffer.from(await letter.save()));

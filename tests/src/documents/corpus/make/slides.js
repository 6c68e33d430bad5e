// A talk and a review by pptxgenjs.
import JSZip from "jszip";
import PptxGenJS from "pptxgenjs";
import { write } from "./write.js";

async function save(name, fill) {
  const deck = new PptxGenJS();
  fill(deck);
  // Its output is not packed.
  const zip = await JSZip.loadAsync(await deck.write({ outputType: "nodebuffer" }));
  write(name, await zip.generateAsync({ type: "nodebuffer", compression: "DEFLATE" }));
}

await save("pitch.pptx", (deck) => {
  const first = deck.addSlide();
  first.addText("We sell gulls", { x: 1, y: 1, w: 8, h: 1 });
  first.addText(
    [
      { text: "Build the nest", options: { bullet: { type: "number" }, breakLine: true } },
      { text: "Wait", options: { bullet: { type: "number" }, breakLine: true } },
      { text: "Feed them", options: { bullet: { type: "number" } } },
    ],
    { x: 1, y: 2, w: 8, h: 2 },
  );
  first.addNotes("Smile at the board.");
  const second = deck.addSlide();
  second.addText(
    [
      { text: "cheap", options: { bullet: true, breakLine: true } },
      { text: "loud", options: { bullet: true, indentLevel: 1 } },
    ],
    { x: 1, y: 1, w: 8, h: 2 },
  );
  second.addText(
    [
      { text: "Sales of 10" },
      { text: "6", options: { superscript: true } },
      { text: " and CO" },
      { text: "2", options: { subscript: true } },
    ],
    { x: 1, y: 3, w: 8, h: 1 },
  );
});
await save("review.pptx", (deck) => {
  const slide = deck.addSlide();
  slide.addTable(
    [
      [{ text: "Region" }, { text: "May" }, { text: "June" }],
      [{ text: "North", options: { rowspan: 2 } }, { text: "1" }, { text: "2" }],
      [{ text: "3" }, { text: "4" }],
      [{ text: "n/a", options: { colspan: 2 } }, { text: "33" }],
    ],
    { x: 1, y: 1, w: 8 },
  );
  const chart = deck.addSlide();
  chart.addText("Growth", { x: 1, y: 0.2, w: 5, h: 0.5 });
  chart.addText(
    [
      { text: "Plan A", options: { bullet: { type: "number", style: "alphaLcParenR", startAt: 3 }, breakLine: true } },
      { text: "Plan B", options: { bullet: { type: "number", style: "alphaLcParenR", startAt: 3 } } },
    ],
    { x: 1, y: 1, w: 8, h: 2 },
  );
});

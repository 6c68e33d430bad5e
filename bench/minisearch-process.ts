import { readFileSync, writeFileSync } from "node:fs";
import MiniSearch from "minisearch";

// Makes an index of the lines of a file with minisearch, as long as one of Belay's chunks each, and
// keeps it as JSON; or opens that, and asks it.

const CHUNK_UNITS = 1500;
const OPTIONS = { fields: ["text"] };

const [what, path = "", kept = "", query = ""] = process.argv.slice(2);
if (what === "index") {
  const search = new MiniSearch<{ id: number; text: string }>(OPTIONS);
  let text = "";
  let id = 0;
  for (const line of readFileSync(path, "utf8").split("\n")) {
    text += `${line}\n`;
    if (text.length < CHUNK_UNITS) continue;
    search.add({ id: id++, text });
    text = "";
  }
  search.add({ id, text });
  writeFileSync(kept, JSON.stringify(search));
} else {
  const search = MiniSearch.loadJSON(readFileSync(kept, "utf8"), OPTIONS);
  console.log(search.search(query).slice(0, 10).length);
}

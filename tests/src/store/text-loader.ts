import { openTally } from "../../../src/context/text/tally.ts";
import { writeChecked } from "../../../src/platform/checked-file.ts";
import { openStore } from "../../../src/store/open.ts";
import { writeTable } from "../../support/write-table.ts";

// A process of its own: makes a large context in the store that it is told, up to a step, says so and waits to be killed.
const [place = "", step = ""] = process.argv.slice(2);
const store = await openStore(place === "memory" ? null : place);
const { texts } = store;
if (!texts) throw new Error("the store keeps no large contexts");
await texts.hold();
const bytes = Buffer.from("a text of another process\n");
const tally = openTally();
tally.add(bytes);
const text = writeChecked(texts.folder);
text.put(bytes);
if (step === "begun") text.put(Buffer.alloc(2 ** 21));
else {
  const { hash, path } = text.end();
  const table = writeTable(texts.folder, tally.told(), []);
  const stats = { length_chars: bytes.length, sources: ["text"], context_hash: hash };
  const parts = [
    { hash, file: path },
    { hash: table.hash, file: table.path },
  ];
  if (step === "kept")
    await store.putContext({ key: hash, parts, index: { documents: table.hash, routes: [], skips: [], stats } });
}
console.log(texts.folder);
setInterval(() => {}, 1000);

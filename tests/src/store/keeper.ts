import { sha256 } from "../../../src/pi/read-cache/file.ts";
import { openStore } from "../../../src/store/open.ts";
import { TEXTS } from "./sample.ts";

// A process of its own: keeps the sample's texts in the store that it is told, and ends.
await using store = await openStore(process.argv[2] ?? "");
for (const text of TEXTS) await store.keepText(sha256(text), text, 6);

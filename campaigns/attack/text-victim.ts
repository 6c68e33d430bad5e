import { slowest, TEXT_READERS } from "./texts.ts";

// A process of its own for a reader of texts: one that takes the square of a text's length is ended from outside.

const reader = TEXT_READERS.find(({ id }) => id === process.argv[2]);
if (!reader) throw new Error(`there is no reader of ${process.argv[2]}`);
process.send?.(slowest(reader), () => process.exit(0));

import { parentPort } from "node:worker_threads";
import { openPageRoom } from "../../platform/page-sums.ts";
import { openPlainText } from "../text/plain-text.ts";
import { openText } from "../text/text.ts";
import { patternOf } from "./pattern.ts";
import { piecesOf, type ReadText, roomBytes } from "./pieces.ts";
import { AHEAD, type Answer, answerOf, type FailedPiece, SHARED, type SharedSearch } from "./threads.ts";

// Another thread of searches. A piece at which it fails is searched by the thread that wants it.

const LOOK_MS = 1000;

/** The search has ended. */
class Over extends Error {}

function searchText(search: SharedSearch): void {
  if ("descriptor" in search.text) {
    searchPieces(search, openPlainText(search.text));
    return;
  }
  using text = openText(search.text);
  searchPieces(search, text);
}

function searchPieces(search: SharedSearch, text: ReadText): void {
  const { sizes, shared, port } = search;
  const pattern = patternOf(search.source);
  using room = openPageRoom(roomBytes(sizes));
  const isOver = () => Atomics.load(shared, SHARED.stop) === 1;
  const all = piecesOf(text, sizes);

  function between(): void {
    if (isOver()) throw new Over();
  }

  function answer(number: number): Answer | FailedPiece {
    try {
      return answerOf(text, number, pattern, search, between, room.bytes);
    } catch {
      return { number, count: undefined };
    }
  }

  while (!isOver()) {
    const number = Atomics.add(shared, SHARED.next, 1);
    if (number >= all) return;
    for (let wanted = Atomics.load(shared, SHARED.wanted); number - wanted > AHEAD && !isOver(); ) {
      Atomics.wait(shared, SHARED.wanted, wanted, LOOK_MS);
      wanted = Atomics.load(shared, SHARED.wanted);
    }
    port.postMessage(answer(number));
    Atomics.add(shared, SHARED.done, 1);
    Atomics.notify(shared, SHARED.done);
  }
}

parentPort?.on("message", (search: SharedSearch) => {
  try {
    searchText(search);
  } finally {
    search.port.close();
  }
});

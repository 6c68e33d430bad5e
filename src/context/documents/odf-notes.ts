import type { Growing } from "./growing.ts";
import type { OdfParagraphs } from "./odf-paragraphs.ts";
import type { Handlers } from "./xml.ts";

/** A note or a comment. */
interface Note {
  /** Beginning of its mark. */
  readonly kind: "^" | "^e" | "comment ";
  /** The number or sign of its mark. */
  sign: string | undefined;
  said: string;
}

/** The notes and comments of a document: {@link odfNotes}. */
interface OdfNotes {
  readonly handlers: Handlers;
  /** Writes them behind the text. */
  write(text: Growing): void;
}

/** A mark that an author chose, such as `*`. */
const MOST_SIGNS = 20;

const markOf = ({ kind, sign = "" }: Note) => `[${kind}${sign}]`;

/** Takes notes out of the paragraphs that refer to them. They are numbered in the order of their marks, as they are printed. */
export function odfNotes(paragraphs: OdfParagraphs): OdfNotes {
  const notes: Note[] = [];
  const open: Note[] = [];
  const counts = { "^": 0, "^e": 0 };
  const begin = (kind: Note["kind"]) => {
    const note: Note = { kind, sign: undefined, said: "" };
    notes.push(note);
    open.push(note);
    paragraphs.holdIn((said, { label = "" }) => {
      note.said += `${note.said === "" ? "" : " "}${label === "" ? "" : `${label} `}${said.trim()}`;
    });
    return note;
  };
  const end = () => {
    paragraphs.release();
    const note = open.pop();
    if (!note) return;
    if (note.kind !== "comment ") note.sign ??= String(++counts[note.kind]);
    paragraphs.say(markOf(note));
  };
  return {
    handlers: {
      "text:note": (given) => begin(given["text:note-class"] === "endnote" ? "^e" : "^"),
      "text:note-citation"({ "text:label": sign }) {
        const note = open.at(-1);
        // One with a sign of its own is not counted.
        if (note) note.sign = sign?.slice(0, MOST_SIGNS);
      },
      "/text:note": end,
      "office:annotation"() {
        begin("comment ").sign = String(notes.length);
      },
      "/office:annotation": end,
    },
    write(text) {
      const filled = notes.filter(({ said }) => said !== "");
      if (filled.length > 0) text.part("notes");
      for (const note of filled) text.add(`${markOf(note)} ${note.said}\n`);
    },
  };
}

/** Collects the lines of a part of a mail, and gives its bytes as they were before they were packed. */
interface PartDecoder {
  update(line: Uint8Array): void;
  finalize(): Promise<ArrayBuffer>;
}

/**
 * Makes postal-mime read the Base64 of parts up to a text that stands behind it, such as the footer of
 * a mailing list. It takes the letters of such a text for Base64, too.
 *
 * @param nodes what parts of its mails have in common
 */
export function keepFooters(nodes: object): void {
  const choose: (encoding: string) => void = Reflect.get(nodes, "setupContentDecoder");
  Reflect.set(nodes, "setupContentDecoder", function (this: object, encoding: string) {
    choose.call(this, encoding);
    if (/base64/i.test(encoding))
      Reflect.set(
        this,
        "contentDecoder",
        base64Decoder(() => Reflect.set(this, IS_CUT, true)),
      );
  });
}

const IS_CUT = Symbol("is cut");

/** True if the Base64 of a part ends in the middle of its last bytes. */
export const isCut = (part: object): boolean => Reflect.get(part, IS_CUT) === true;

function base64Decoder(onCut: () => void): PartDecoder {
  const lines: string[] = [];
  return {
    update: (line) => void lines.push(Buffer.from(line).toString("latin1")),
    finalize: async () => new Uint8Array(decoded(lines.join("\n"), onCut)).buffer,
  };
}

/** Units of a line of Base64. Words are not so long. */
const PACKED_UNITS = 60;
/** A sign that Base64 has not. */
const ODD = /[^A-Za-z0-9+/=\s]/;
const isPacked = (line: string) => line.length >= PACKED_UNITS && !/ /.test(line) && !ODD.test(line);

/** The bytes of Base64, and behind them the text that follows it. Signs between its lines are damage. */
function decoded(said: string, onCut: () => void): Buffer {
  const odd = said.search(ODD);
  const footerAt = odd < 0 ? said.length : said.lastIndexOf("\n", odd) + 1;
  const footer = said.slice(footerAt);
  const isPadded = (packed: string) => packed.replace(/[^A-Za-z0-9+/=]+/g, "").length % 4 === 0;
  if (footer === "" && !isPadded(said)) onCut();
  if (footer === "" || footer.split("\n").some(isPacked)) return unpacked(said);
  return Buffer.concat([unpacked(said.slice(0, footerAt)), Buffer.from(`\n${footer}\n`, "latin1")]);
}

/** Some programs pad each line. */
function unpacked(said: string): Buffer {
  const units = said.replace(/[^A-Za-z0-9+/=]+/g, "").split(/=+/);
  return Buffer.concat(units.map((unit) => Buffer.from(unit, "base64")));
}

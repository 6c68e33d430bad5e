// TextEncoder and TextDecoder. Node's own encode and decode, in the host; bytes cross as base64.
(function encoding(kit) {
  const { call, define, min } = kit;

  /** The bytes of a buffer or view. */
  function bytesOf(input = NO_BYTES) {
    if (ArrayBuffer.isView(input)) return new Uint8Array(input.buffer, input.byteOffset, input.byteLength);
    if (input instanceof ArrayBuffer || input instanceof SharedArrayBuffer) return new Uint8Array(input);
    throw new TypeError("decode takes an ArrayBuffer, a typed array or a DataView");
  }

  const NO_BYTES = new Uint8Array(0);

  function joined(one, other) {
    const all = new Uint8Array(one.length + other.length);
    all.set(one);
    all.set(other, one.length);
    return all;
  }

  class TextEncoder {
    get encoding() {
      return "utf-8";
    }
    encode(text = "") {
      return Uint8Array.fromBase64(call("TextEncoder.encode", [`${text}`.toWellFormed()]));
    }
    encodeInto(text, into) {
      const bytes = this.encode(text);
      let written = min(bytes.length, into.length);
      // Only whole characters are written.
      while (written > 0 && (bytes[written] & 0xc0) === 0x80) written--;
      const whole = bytes.subarray(0, written);
      into.set(whole);
      return { read: new TextDecoder("utf-8", { ignoreBOM: true }).decode(whole).length, written };
    }
  }

  class TextDecoder {
    #how;
    /** The bytes that a stream has had so far. They are decoded anew with each part, so that the host keeps nothing. */
    #bytes = NO_BYTES;
    #given = 0;
    constructor(label = "utf-8", options = {}) {
      const { fatal, ignoreBOM } = options ?? {};
      this.#how = { encoding: call("TextDecoder", [`${label}`]), fatal: !!fatal, ignoreBOM: !!ignoreBOM };
    }
    get encoding() {
      return this.#how.encoding;
    }
    get fatal() {
      return this.#how.fatal;
    }
    get ignoreBOM() {
      return this.#how.ignoreBOM;
    }
    decode(input, options) {
      const stream = !!options?.stream;
      const bytes = joined(this.#bytes, bytesOf(input));
      const given = this.#given;
      this.#bytes = NO_BYTES;
      this.#given = 0;
      const text = call("TextDecoder.decode", [bytes.toBase64(), { ...this.#how, stream }]);
      if (stream) {
        this.#bytes = bytes;
        this.#given = text.length;
      }
      return text.slice(given);
    }
  }

  define("TextEncoder", TextEncoder);
  define("TextDecoder", TextDecoder);
  return null;
});

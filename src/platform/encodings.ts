/** True if texts can be decoded by this name: it is a label of the Encoding Standard. */
export function isEncoding(name: string): boolean {
  try {
    return new TextDecoder(name).encoding !== "";
  } catch {
    return false;
  }
}

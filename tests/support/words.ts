/** The words of a line without variables or pipes, as a shell takes them apart. */
export function wordsOf(line: string): string[] {
  return Array.from(
    line.matchAll(/'([^']*)'|"([^"]*)"|(\S+)/g),
    ([, single, double, bare]) => single ?? double ?? bare ?? "",
  );
}

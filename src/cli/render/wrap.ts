/** Text in lines of at most `width` characters, broken at spaces. */
export function paragraph(text: string, width: number): string {
  return wrap(text.split(" "), width).join("\n");
}

/** Words in lines of at most `width` characters; a longer word has a line of its own. */
export function wrap(words: readonly string[], width: number): string[] {
  const lines: string[] = [];
  for (const word of words) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= width) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}

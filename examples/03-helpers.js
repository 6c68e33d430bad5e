// Helpers: what this cell defines, every later cell of the session finds defined.
//
//   belay exec examples/03-helpers.js -c PATH

/** `src/main.ts:12` for an offset of P. */
function placeOf(offset) {
  const at = doc_at(offset);
  return at ? `${at.id}:${at.line}` : `P[${offset}]`;
}

/** The lines that match, as grep -n prints them. */
function grep(pattern, flags = "", most = 20) {
  return find(`[^\\n]*(?:${pattern})[^\\n]*`, flags)
    .matches.slice(0, most)
    .map(([start, end]) => `${placeOf(start)}: ${peek(start, end).trim()}`);
}

// A function's text is its source: what works here works in the helper.
helpers.add("grep", `${placeOf}\n${grep}`);

for (const line of grep("TODO|FIXME", "i", 5)) print(line);

result = { helpers: session().helpers, next: 'in a later cell: grep("error", "i")' };

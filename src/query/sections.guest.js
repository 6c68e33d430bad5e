// Chooses the sections of P that a query reads: an expression, called with the builtins that it uses.
(function sections({ peek, find, search, find_routes, list_docs, doc_at, stats }) {
  const SECTION_UNITS = 6000;

  const STOP_WORDS = new Set(
    "about after all also and any are been before being but can code could describe did does doing done each every explain file files find for from give had has have how into its least list make many more most much not often one only other our please should show some such summarise summarize tell than that the their them then there these they this those through to use used uses using was were what when where which while who whose why will with within without would you your".split(
      " ",
    ),
  );

  /** Words of a text that its meaning hangs on: names and longer words, as they stand in it. */
  function wordsOf(text) {
    const words = text.match(/[\p{L}\p{N}_$]{3,}/gu) ?? [];
    return [...new Set(words)].filter((word) => !STOP_WORDS.has(word.toLowerCase())).slice(0, 24);
  }

  /** The terms of a pattern: the quoted ones, else the words. */
  function termsOf(text) {
    const quoted = [...text.matchAll(/["'`]([^"'`\n]{2,80})["'`]/g)].map(([, inside]) => inside);
    return quoted.length > 0 ? [...new Set(quoted)] : wordsOf(text).slice(0, 12);
  }

  const literal = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

  /** A section around matches in a document, cut at line ends if there are any near. */
  function sectionAround({ start, end, document }) {
    const from = Math.max(document.start, start - 1500);
    const to = Math.min(document.end, Math.max(end, from + SECTION_UNITS));
    const head = from === document.start ? 0 : peek(from, start).indexOf("\n") + 1;
    return { start: from + head, end: to };
  }

  /** Places where most of the terms stand together: windows of a document by number of different terms, then of matches. */
  function byRegex(terms, limit) {
    const windows = new Map();
    for (const [index, term] of terms.entries()) {
      for (const [start, end] of thinned(find(literal(term), "i").matches, 2000)) {
        const document = doc_at(start);
        if (!document || start < document.start) continue;
        const key = `${document.start}+${Math.floor((start - document.start) / SECTION_UNITS)}`;
        const entry = windows.get(key) ?? { start, end, document, terms: new Set(), count: 0 };
        entry.start = Math.min(entry.start, start);
        entry.end = Math.max(entry.end, end);
        entry.terms.add(index);
        entry.count++;
        windows.set(key, entry);
      }
    }
    return [...windows.values()]
      .sort((a, b) => b.terms.size - a.terms.size || b.count - a.count || a.start - b.start)
      .slice(0, limit)
      .map(({ start, end, document }) => sectionAround({ start, end: Math.min(end, start + SECTION_UNITS), document }));
  }

  /** At most so many of a list, at equal distances: of many matches not only the first. */
  function thinned(list, most) {
    const step = Math.ceil(list.length / most);
    return list.filter((_, at) => at % step === 0);
  }

  function byBm25(words, limit) {
    return search(words.join(" "), Math.min(100, limit * 2))
      .map(({ start, end }) => ({ start, end }))
      .slice(0, limit);
  }

  /** The documents that the routes name, each from its beginning. */
  function byRouting(prompt, limit) {
    const sections = [];
    for (const route of find_routes(prompt, 50)) {
      const path = route.path.replace(/\/$/, "");
      const named = list_docs(path, { limit: 1000 }).filter(({ id }) => id === path || id.startsWith(`${path}/`));
      for (const { start, end } of named.slice(0, 3)) {
        if (sections.length < limit && !sections.some((section) => section.start === start)) {
          sections.push({ start, end: Math.min(end, start + SECTION_UNITS) });
        }
      }
    }
    return sections;
  }

  /** Sections for a question, best first. `isSure`: they were not found by its words alone. */
  function choose(prompt, strategy, limit) {
    if (strategy === "regex") return { used: strategy, sections: byRegex(termsOf(prompt), limit), isSure: false };
    if (strategy === "routing") return { used: strategy, sections: byRouting(prompt, limit), isSure: true };
    const byWords = () => ({ used: "bm25", sections: byBm25(wordsOf(prompt), limit), isSure: false });
    if (strategy === "bm25") return byWords();
    // Quoted text and names in capitals (TODO, MAX_SIZE) are meant to the letter.
    const exact = /["'`][^"'`\n]{2,80}["'`]/.test(prompt)
      ? termsOf(prompt)
      : (prompt.match(/\b[A-Z][A-Z0-9_]{2,}\b/g) ?? []);
    const found = byRegex([...new Set(exact)], limit);
    if (found.length > 0) return { used: "regex", sections: found, isSure: true };
    if ((find_routes(prompt, 1)[0]?.relevance ?? 0) >= 0.5) {
      const routed = byRouting(prompt, limit);
      if (routed.length > 0) return { used: "routing", sections: routed, isSure: true };
    }
    return byWords();
  }

  /** True if the words of a question find little: no section, or fewer than half of them stand in P in any form. */
  function findLittle(prompt, { sections, isSure }) {
    if (sections.length === 0) return true;
    if (isSure) return false;
    const words = wordsOf(prompt);
    return words.filter((word) => search(word, 1).length > 0).length * 2 < words.length;
  }

  /** Sections at equal distances over the whole of P: all of it, if `limit` sections hold it. */
  function spread(limit) {
    const { chars } = stats();
    const count = Math.min(limit, Math.ceil(chars / SECTION_UNITS));
    const isWhole = count * SECTION_UNITS >= chars;
    const step = isWhole ? SECTION_UNITS : count > 1 ? (chars - SECTION_UNITS) / (count - 1) : 0;
    return Array.from({ length: count }, (_, at) => {
      const from = Math.floor(at * step);
      return { start: lineStart(from), end: lineStart(from + SECTION_UNITS) };
    });
  }

  /** The start of the line that follows an offset, if there is one near. */
  function lineStart(offset) {
    const { chars } = stats();
    if (offset === 0 || offset >= chars) return Math.min(offset, chars);
    return offset + peek(offset, offset + 1500).indexOf("\n") + 1;
  }

  /** The best sections by offset, overlapping ones joined, so that there are at most `limit`. */
  function joined(sections, limit) {
    for (let best = sections.length; ; best--) {
      const list = merged(sections.slice(0, best));
      if (list.length <= limit) return list;
    }
  }

  function merged(sections) {
    const ordered = [...sections].sort((a, b) => a.start - b.start || a.end - b.end);
    const list = [];
    for (const section of ordered) {
      const last = list.at(-1);
      if (last && section.start <= last.end) last.end = Math.max(last.end, section.end);
      else list.push({ ...section });
    }
    return list;
  }

  return { choose, findLittle, spread, joined, wordsOf };
});

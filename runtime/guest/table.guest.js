// What `console.table` prints.
(function table(kit) {
  const { isObject, inspect, clip } = kit;

  const ROWS = 1000;
  const CELL_UNITS = 200;

  /** The text of a table, drawn as Node does, with the first number that looks rounded; null if the data is not one. */
  function tableText(data, wanted) {
    if (typeof data !== "object" || data === null) return null;
    let rounded;
    const note = (number) => {
      rounded ??= number;
    };
    const shown = (value) => clip(inspect(value, note), CELL_UNITS);
    const isMap = data instanceof Map;
    const isList = Array.isArray(data) || data instanceof Set;
    const all = isMap ? [...data] : isList ? [...data].map((value, at) => [at, value]) : Object.entries(data);
    const rows = all.slice(0, ROWS);
    const isRow = (value) => isObject(value) && typeof value !== "function";
    const columns = wanted ?? [...new Set(rows.flatMap(([, value]) => (isRow(value) ? Object.keys(value) : [])))];
    const hasValues = rows.some(([, value]) => !isRow(value));
    const titles = [
      ...(isMap ? ["(iteration index)", "Key"] : ["(index)"]),
      ...columns,
      ...(hasValues ? ["Values"] : []),
    ];
    const lines = rows.map(([key, value], at) => [
      ...(isMap ? [`${at}`, shown(key)] : [`${key}`]),
      ...columns.map((name) => (isRow(value) && Object.hasOwn(value, name) ? shown(value[name]) : "")),
      ...(hasValues ? [isRow(value) ? "" : shown(value)] : []),
    ]);
    const widths = titles.map((title, at) => Math.max(title.length, ...lines.map((line) => line[at].length)) + 2);
    const rule = (left, middle, right) => left + widths.map((width) => "─".repeat(width)).join(middle) + right;
    const drawn = (line) => `│${line.map((text, at) => ` ${text}`.padEnd(widths[at])).join("│")}│`;
    const body = lines.map(drawn);
    const text = [rule("┌", "┬", "┐"), drawn(titles), rule("├", "┼", "┤"), ...body, rule("└", "┴", "┘")].join("\n");
    return { text: all.length > ROWS ? `${text}\n… ${all.length - ROWS} more rows` : text, rounded };
  }

  return { __proto__: null, tableText };
});

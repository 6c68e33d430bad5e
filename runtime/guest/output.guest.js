// What a cell prints: `print` and `console`.
(function output(post, config, kit) {
  const { freeze, slice, inspect, tableText, install, constant, named, builtin } = kit;

  const printer =
    (stream) =>
    (...values) => {
      let line = "";
      let rounded;
      const note = (number) => {
        rounded ??= number;
      };
      for (let i = 0; i < values.length; i++) {
        const value = values[i];
        line += (i > 0 ? " " : "") + (typeof value === "string" ? value : inspect(value, note));
      }
      if (rounded !== undefined) post("rounded", stream, `${rounded}`);
      // A unit is at least one byte, so units beyond the limit are never shown and need not leave the guest.
      if (line.length <= config.outputUnits) post("print", stream, `${line}\n`);
      else {
        post("print", stream, slice(line, 0, config.outputUnits + 1));
        post("unprinted", stream, `${line.length - config.outputUnits}`);
      }
    };

  builtin("print", printer("stdout"));
  const out = named("log", printer("stdout"));
  const err = named("error", printer("stderr"));
  for (const fn of [out, err]) freeze(fn);

  const table = named("table", (data, columns) => {
    const found = tableText(data, columns);
    out(found?.text ?? data);
    if (found?.rounded !== undefined) post("rounded", "stdout", `${found.rounded}`);
  });
  freeze(table);
  install("console", constant({ log: out, info: out, debug: out, warn: err, error: err, table }));
});

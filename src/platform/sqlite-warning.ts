/** Drops the ExperimentalWarning of node:sqlite in this thread, and no other warning. Call before it is imported. */
export function silenceSqliteWarning(): void {
  const emit = process.emitWarning;
  process.emitWarning = (warning: string | Error, ...rest: unknown[]) => {
    if (rest[0] === "ExperimentalWarning" && /^SQLite is an experimental feature/.test(String(warning))) return;
    Reflect.apply(emit, process, [warning, ...rest]);
  };
}

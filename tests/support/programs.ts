import fc from "fast-check";

/** A top-level statement in two spellings: as a cell declares it, and as an assignment to names that exist already. */
export interface Statement {
  readonly declared: string;
  readonly assigned: string;
}

/** A program whose last statement is an expression that shows its variables. */
export interface Program {
  readonly statements: readonly Statement[];
  readonly shown: string;
  readonly names: readonly string[];
}

type Choose = (below: number) => number;

interface Scope {
  readonly choose: Choose;
  /** Names that an expression may read. */
  readonly readable: string[];
  /** Names that may be assigned. */
  readonly writable: string[];
  /** A name that no other declaration of this scope has; at the top level perhaps one of an earlier cell. */
  fresh(): string;
  /** A name that nothing has yet: functions are hoisted over what reads an earlier value. */
  unused(): string;
  readonly depth: number;
}

/** Programs over the names `prefix1`, `prefix2` …; `known` are names that an earlier cell has declared. */
export function programs(prefix: string, known: readonly string[] = []): fc.Arbitrary<Program> {
  return fc.gen().map((generate) => {
    const choose: Choose = (below) => generate(fc.nat, { max: below - 1 });
    const redeclared = [...known];
    let made = known.length > 0 ? 100 : 0;
    const unused = () => `${prefix}${++made}`;
    const scope: Scope = {
      ...{ choose, readable: [...known], writable: [...known], unused },
      fresh: () => (choose(2) === 0 ? (redeclared.shift() ?? unused()) : unused()),
      depth: 0,
    };
    const statements = Array.from({ length: 1 + choose(6) }, () => statement(scope));
    const names = [...new Set(scope.readable)];
    return { statements, shown: `[${names.join(", ")}]`, names };
  });
}

const same = (text: string): Statement => ({ declared: text, assigned: text });

function statement(scope: Scope): Statement {
  switch (scope.choose(scope.depth > 2 ? 6 : 12)) {
    case 0:
    case 1:
      return binding(scope, ["let", "const", "var"][scope.choose(3)] ?? "let");
    case 2:
      return destructuring(scope);
    case 3:
      return withoutValue(scope);
    case 4:
      return same(assignment(scope));
    case 5:
      return same(`(${expression(scope)})`);
    case 6:
      return classDeclaration(scope);
    case 7:
      return functionDeclaration(scope);
    case 8:
      return same(`{ ${inner(scope)} }`);
    case 9:
      return same(`if (${expression(scope)}) { ${inner(scope)} } else { ${inner(scope)} }`);
    case 10:
      return closures(scope);
    default:
      return same(
        `try { ${inner(scope)} throw ${expression(scope)} } catch (error) { ${inner(scope)} } finally { ${inner(scope)} }`,
      );
  }
}

function declare(scope: Scope, name: string, writable: boolean): void {
  scope.readable.push(name);
  if (writable) scope.writable.push(name);
  else scope.writable.splice(0, scope.writable.length, ...scope.writable.filter((other) => other !== name));
}

function binding(scope: Scope, keyword: string): Statement {
  const value = expression(scope);
  const name = scope.fresh();
  declare(scope, name, keyword !== "const");
  return { declared: `${keyword} ${name} = ${value}`, assigned: `${name} = ${value}` };
}

function withoutValue(scope: Scope): Statement {
  const [one, two] = [scope.fresh(), scope.fresh()];
  const value = expression(scope);
  for (const name of [one, two]) declare(scope, name, true);
  const [first, second] = scope.choose(2) === 0 ? [one, `${two} = ${value}`] : [`${one} = ${value}`, two];
  const assigned = (text: string) => (text.includes("=") ? text : `${text} = undefined`);
  return { declared: `let ${first}, ${second}`, assigned: `${assigned(first)}, ${assigned(second)}` };
}

function destructuring(scope: Scope): Statement {
  const value = expression(scope);
  const fallback = expression(scope);
  const [one, two, three] = [scope.fresh(), scope.fresh(), scope.fresh()];
  for (const name of [one, two, three]) declare(scope, name, true);
  const shapes: readonly [string, string][] = [
    [`[${one}, ${two} = ${fallback}, ...${three}]`, `[1, , ${value}]`],
    [`{ p: ${one}, q: [${two}] = [${fallback}], ...${three} }`, `{ p: ${value}, r: 3 }`],
  ];
  const [pattern = "", from = ""] = shapes[scope.choose(2)] ?? [];
  return { declared: `let ${pattern} = ${from}`, assigned: `(${pattern} = ${from})` };
}

function classDeclaration(scope: Scope): Statement {
  const value = expression(scope);
  const name = scope.fresh();
  const body = `{ #v = ${value}; static s = 1; constructor(x) { this.x = x } get both() { return [this.x, this.#v] } }`;
  const shown = scope.fresh();
  declare(scope, shown, true);
  return {
    declared: `class ${name} ${body} let ${shown} = new ${name}(${name}.s).both`,
    assigned: `${name} = class ${name} ${body}; ${shown} = new ${name}(${name}.s).both`,
  };
}

function functionDeclaration(scope: Scope): Statement {
  const name = scope.unused();
  const shown = scope.fresh();
  const body = inner({ ...scope, readable: [...scope.readable, "x"] });
  const call = `${name}(${expression(scope)})`;
  const text = `(x = 2) { ${body} return [x, ${expression({ ...scope, depth: 3 })}] }`;
  declare(scope, shown, true);
  return {
    declared: `function ${name}${text}\nlet ${shown} = ${call}`,
    assigned: `${name} = function ${name}${text}; ${shown} = ${call}`,
  };
}

function closures(scope: Scope): Statement {
  const name = scope.fresh();
  const value = expression({ ...scope, readable: [...scope.readable, "i"] });
  declare(scope, name, true);
  const loop = `for (let i = 0; i < 3; i++) ${name}.push(() => [i, ${value}]); ${name} = ${name}.map((f) => f())`;
  return { declared: `let ${name} = []; ${loop}`, assigned: `${name} = []; ${loop}` };
}

/** Statements of a block, whose declarations end with it. */
function inner(scope: Scope): string {
  let made = 0;
  const block: Scope = {
    ...scope,
    readable: [...scope.readable],
    writable: [...scope.writable],
    // The same names at the same depth of every block: one block's must not be seen by the next.
    fresh: () => `inner${scope.depth}_${++made}`,
    unused: () => `inner${scope.depth}_${++made}`,
    depth: scope.depth + 2,
  };
  return Array.from(
    { length: scope.choose(3) },
    () => `${statement(block).declared.replaceAll("var ", "let ")}; `,
  ).join("");
}

function assignment(scope: Scope): string {
  const name = pick(scope.choose, scope.writable);
  if (name === undefined) return "0";
  return `${name} ${["=", "+=", "??=", "||="][scope.choose(4)]} ${expression(scope)}`;
}

function expression(scope: Scope): string {
  const name = pick(scope.choose, scope.readable);
  const deeper = { ...scope, depth: scope.depth + 1 };
  switch (scope.choose(scope.depth > 2 ? 4 : 10)) {
    case 0:
      return `${scope.choose(10)}`;
    case 1:
      return `"s${scope.choose(3)}"`;
    case 2:
    case 3:
      return name ?? "null";
    case 4:
      return `(${expression(deeper)} ${["+", "-", "*", "%", "<", "===", "&&", "??"][scope.choose(8)]} ${expression(deeper)})`;
    case 5:
      return `[${expression(deeper)}, ...[${expression(deeper)}]]`;
    case 6:
      return `{ k: ${expression(deeper)}, ["c" + 1]: ${expression(deeper)} }.k`.replace(/^(.*)\.k$/s, "($1).k");
    case 7:
      return `\`t\${${expression(deeper)}}\``;
    case 8:
      return `(${expression(deeper)} ? ${expression(deeper)} : ${expression(deeper)})`;
    default:
      return `((y) => [y, ${expression(deeper)}])(${expression(deeper)})`;
  }
}

function pick<T>(choose: Choose, items: readonly T[]): T | undefined {
  return items.length === 0 ? undefined : items[choose(items.length)];
}

import type { AnyNode, ClassExpression, Node, Pattern, Program } from "acorn";

/** Names that a binding pattern declares: `{ a, b: [c = 1, ...d] }` gives a, c, d. */
function* boundNames(pattern: Pattern): Iterable<string> {
  switch (pattern.type) {
    case "Identifier":
      yield pattern.name;
      break;
    case "ObjectPattern":
      for (const property of pattern.properties) {
        yield* boundNames(property.type === "Property" ? property.value : property.argument);
      }
      break;
    case "ArrayPattern":
      for (const element of pattern.elements) if (element) yield* boundNames(element);
      break;
    case "AssignmentPattern":
      yield* boundNames(pattern.left);
      break;
    case "RestElement":
      yield* boundNames(pattern.argument);
      break;
    case "MemberExpression":
      break;
  }
}

/** A name that a script declares at its top level, and the node that does. */
export interface Declared {
  readonly name: string;
  readonly node: Node;
}

/** Returns all that a script declares at its top level. A name may occur several times. */
export function declaredNames(program: Program): Declared[] {
  return [...topLevelNames(program), ...hoistedVarNames(program)];
}

function* topLevelNames(program: Program): Iterable<Declared> {
  for (const statement of program.body) {
    if (statement.type === "VariableDeclaration") {
      for (const declarator of statement.declarations) {
        for (const name of boundNames(declarator.id)) yield { name, node: declarator };
      }
    } else if (statement.type === "FunctionDeclaration" || statement.type === "ClassDeclaration") {
      yield { name: statement.id.name, node: statement };
    }
  }
}

/** `var` names that blocks and loops hoist to the top level; function bodies keep theirs. */
function* hoistedVarNames(program: Program): Iterable<Declared> {
  for (const statement of program.body) {
    if (statement.type === "VariableDeclaration" || isFunctionLike(statement)) continue;
    for (const node of walk(statement, (inner) => !isFunctionLike(inner))) {
      if (node.type !== "VariableDeclaration" || node.kind !== "var") continue;
      for (const declarator of node.declarations) {
        for (const name of boundNames(declarator.id)) yield { name, node: declarator };
      }
    }
  }
}

/** Returns the first `import(…)` or import statement, at any depth. */
export function findImport(program: AnyNode): Node | undefined {
  for (const node of walk(program, () => true)) {
    if (node.type === "ImportExpression" || node.type === "ImportDeclaration") return node;
  }
  return undefined;
}

/** Returns the first `return` outside every function, in a block or not. */
export function findOuterReturn(program: Program): Node | undefined {
  for (const node of walk(program, (inner) => !isFunctionLike(inner))) {
    if (node.type === "ReturnStatement") return node;
  }
  return undefined;
}

/** Returns the first class expression that is named eval or arguments, which the engine takes. */
export function findForbiddenClass(program: Program): ClassExpression | undefined {
  for (const node of walk(program, () => true)) {
    if (node.type === "ClassExpression" && /^(?:eval|arguments)$/.test(node.id?.name ?? "")) return node;
  }
  return undefined;
}

/** Labels of `continue` that name an outer label of a loop with several, each with the innermost one: the engine knows it alone. */
export function outerContinues(program: Program): ReadonlyMap<Node, string> {
  const found = new Map<Node, string>();
  for (const node of walk(program, () => true)) {
    const outer: string[] = [];
    let body: AnyNode = node;
    for (; body.type === "LabeledStatement"; body = body.body) outer.push(body.label.name);
    const innermost = outer.pop();
    if (innermost === undefined || outer.length === 0 || !/^(?:For|While|DoWhile)/.test(body.type)) continue;
    for (const inner of walk(body, (below) => !isFunctionLike(below))) {
      if (inner.type === "ContinueStatement" && inner.label && outer.includes(inner.label.name))
        found.set(inner.label, innermost);
    }
  }
  return found;
}

function isFunctionLike(node: Node): boolean {
  return /Function|^Class/.test(node.type);
}

/** Walks a node and all nodes below it, in source order. `enter` says whether to go below a node. Not recursive: sources nest deep. */
function* walk(root: AnyNode, enter: (node: AnyNode) => boolean): Iterable<AnyNode> {
  const stack: AnyNode[] = [root];
  for (let node = stack.pop(); node; node = stack.pop()) {
    yield node;
    if (!enter(node)) continue;
    const children: AnyNode[] = [];
    for (const value of Object.values(node)) {
      for (const child of Array.isArray(value) ? value : [value]) if (isNode(child)) children.push(child);
    }
    for (const child of children.reverse()) stack.push(child);
  }
}

function isNode(value: unknown): value is AnyNode {
  return typeof value === "object" && value !== null && "type" in value && typeof value.type === "string";
}

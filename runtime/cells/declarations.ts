import type { AnyNode, ClassExpression, Node, Pattern, Program, VariableDeclaration } from "acorn";

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
  }
}

/**
 * Returns all that a script declares at its top level, each name with the node that declares it. A
 * name may occur several times.
 */
export function declaredNames(program: Program): { name: string; node: Node }[] {
  return [...topLevelNames(program), ...hoistedVarNames(program)];
}

function* topLevelNames(program: Program) {
  for (const statement of program.body) {
    if (statement.type === "VariableDeclaration") yield* namesIn(statement);
    else if (statement.type === "FunctionDeclaration" || statement.type === "ClassDeclaration") {
      yield { name: statement.id.name, node: statement };
    }
  }
}

/** `var` names that blocks and loops hoist to the top level; function bodies keep theirs. */
function* hoistedVarNames(program: Program) {
  for (const statement of program.body) {
    if (statement.type === "VariableDeclaration") continue;
    for (const node of outsideFunctions(statement)) {
      if (node.type === "VariableDeclaration" && node.kind === "var") yield* namesIn(node);
    }
  }
}

function* namesIn({ declarations }: VariableDeclaration) {
  for (const node of declarations) for (const name of boundNames(node.id)) yield { name, node };
}

/** Returns the first `import(…)` or import statement, at any depth. */
export function findImport(program: AnyNode): Node | undefined {
  return walk(program).find(({ type }) => type === "ImportExpression" || type === "ImportDeclaration");
}

/** Returns the first `return` outside every function, in a block or not. */
export function findOuterReturn(program: Program): Node | undefined {
  return outsideFunctions(program).find(({ type }) => type === "ReturnStatement");
}

/** Returns the first class expression that is named eval or arguments, which the engine takes. */
export function findForbiddenClass(program: Program): ClassExpression | undefined {
  const expressions = walk(program).filter((node) => node.type === "ClassExpression");
  return expressions.find(({ id }) => /^(?:eval|arguments)$/.test(id?.name ?? ""));
}

/**
 * Labels of `continue` that name an outer label of a loop with several, each with the innermost
 * one: the engine knows it alone.
 */
export function* outerContinues(program: Program): Iterable<{ readonly label: Node; readonly innermost: string }> {
  for (const node of walk(program)) {
    const outer: string[] = [];
    let body: AnyNode = node;
    for (; body.type === "LabeledStatement"; body = body.body) outer.push(body.label.name);
    const innermost = outer.pop();
    if (innermost === undefined || outer.length === 0 || !/^(?:For|While|DoWhile)/.test(body.type)) continue;
    for (const inner of outsideFunctions(body)) {
      const label = inner.type === "ContinueStatement" ? inner.label : null;
      if (label && outer.includes(label.name)) yield { label, innermost };
    }
  }
}

/**
 * The nodes that an offset lies in, outermost first, down from the innermost function that it lies
 * in.
 */
export function nodesAround(program: AnyNode, offset: number): AnyNode[] {
  let around: AnyNode[] = [];
  for (const node of walk(program, (node) => holds(node, offset))) {
    if (!holds(node, offset)) continue;
    if (isFunction(node)) around = [];
    else around.push(node);
  }
  return around;
}

const holds = ({ start, end }: Node, offset: number) => start <= offset && offset < end;
const isFunction = ({ type }: AnyNode) => /Function/.test(type);

/** Walks a node and the nodes below it, but not those within functions and classes. */
const outsideFunctions = (root: AnyNode) => walk(root, (node) => !/Function|^Class/.test(node.type));

/**
 * Walks a node and all nodes below it, in source order. `enter` says whether to go below a node.
 * Not recursive: sources nest deep.
 */
function* walk(root: AnyNode, enter = (_node: AnyNode) => true): Generator<AnyNode, void> {
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

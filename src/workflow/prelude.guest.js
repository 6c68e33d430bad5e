// The functions that a workflow's script has by name, made of builtins. The cell evaluates this
// expression behind the script, so that lines of the script are those of its file; `SETTINGS` is
// JSON in it.
(async function run_workflow(script, { args: given, usual }) {
  const settings = SETTINGS;
  const { items: mostItems, agents, aliases, efforts, names } = settings;
  const ask = llm_query;
  const left = budget;
  const print = console.error;
  const sourceOf = settings.nested ? workflow_source : null;
  // A script that another one runs has more lines before it than this file has: its frames are known by that.
  const LINES_BEFORE = 1000;
  // biome-ignore lint/security/noGlobalEval: it is in the sandbox as the cell is.
  const evaluate = globalThis.eval;
  const all = Promise.all.bind(Promise);
  const isArray = Array.isArray;
  const hasOwn = Object.hasOwn;
  const start = left();
  const FAILURES_THROWN = ["js_error", "budget_exceeded", "schema_mismatch", "policy_violation", "no_model_configured"];
  const OF_MODELS = ["delivery", "timeout_ms", "tools", "context", "max_turns", "max_tokens"];
  const MOST_LINES = 100;
  /** Names that programs have elsewhere, and what a script does in their place. */
  const ABSENT = [
    [
      "setTimeout setInterval setImmediate",
      "leave the pause out, since agents are awaited and limits of rates waited for",
    ],
    ["require fs path Bun Deno exec execSync spawn", "have an agent read, write or run it, or pass the text in args"],
    ["fetch", "have an agent with the web look there"],
    ["process __dirname __filename", "pass in args what the script is to know"],
  ];
  const seen = new Set();
  let current;
  let unsaid = 0;

  const named = (value) => String(value).replace(/\s+/g, " ").trim().slice(0, 200).toWellFormed();

  function once(text) {
    if (seen.has(text)) return;
    if (seen.size < MOST_LINES) print(text);
    else unsaid++;
    seen.add(text);
  }

  /** The agent of the user's configuration that answers, or undefined: a model does. */
  function agentFor(type) {
    if (type === undefined || agents.includes(type)) return type ?? usual ?? undefined;
    once(`agent(): no agent ${named(type)} is configured; ${usual ?? "the session's model"} answers`);
    return usual ?? undefined;
  }

  /** The model of a call, by a name that the session knows. */
  function modelFor(model) {
    if (model === undefined || model === "inherit") return undefined;
    const known = hasOwn(aliases, model) ? aliases[model] : String(model).includes("/") ? model : undefined;
    if (known !== undefined) return known;
    once(
      `agent(): the model ${named(model)} is not known here (agent_models of your configuration names it); the session's model answers`,
    );
    return undefined;
  }

  function effortFor(effort) {
    const level = typeof effort === "string" ? effort.toLowerCase() : effort;
    if (level === undefined || efforts.includes(level)) return level;
    once(`agent(): the effort ${named(effort)} is not known, and does nothing; it is one of ${efforts.join(", ")}`);
    return undefined;
  }

  function isolationFor(isolation, agent) {
    if (isolation === undefined) return undefined;
    if (isolation !== "worktree") once(`agent(): the isolation ${named(isolation)} is not known, and does nothing`);
    else if (agent === undefined) once("agent(): isolation does nothing: models only read files");
    else return isolation;
    return undefined;
  }

  /** The options of llm_query for those of agent(). What it does not have is told once. */
  function requestOf(options) {
    const { label, phase = current, schema, model, effort, agentType, isolation, ...more } = present(options);
    const agent = agentFor(agentType);
    const request = {
      schema,
      agent,
      thinking: effortFor(effort),
      model: agent === undefined ? modelFor(model) : model === "inherit" ? undefined : model,
      isolation: isolationFor(isolation, agent),
      label: label === undefined ? undefined : named(label),
      phase: phase === undefined ? undefined : named(phase),
    };
    for (const key of Object.keys(more)) {
      if (!OF_MODELS.includes(key)) once(`agent(): the option ${named(key)} is not known, and does nothing`);
      else if (agent === undefined || key === "timeout_ms") request[key] = more[key];
      else once(`agent(): the option ${key} does nothing for the agent ${agent}`);
    }
    return present(request);
  }

  /** The fields that have a value. */
  function present(fields) {
    return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined && value !== null));
  }

  async function agent(prompt, options) {
    if (typeof prompt !== "string") {
      throw new TypeError(`agent(): the prompt must be a string, not ${kindOf(prompt)}`);
    }
    if (options !== undefined && kindOf(options) !== "an object") {
      throw new TypeError(`agent(): the options must be an object, not ${kindOf(options)}`);
    }
    const request = requestOf(options ?? {});
    try {
      return await ask(prompt, request);
    } catch (error) {
      if (FAILURES_THROWN.includes(error.code)) throw asAgents(error);
      print(`agent ${request.label ?? named(prompt)} gave no answer, and is null: ${named(error.message)}`);
      return null;
    }
  }

  /** The error of a call in the words of the script. */
  function asAgents(error) {
    error.message = String(error.message).replace(/^llm_query: /, "agent(): ");
    return error;
  }

  function kindOf(value) {
    if (value === null || value === undefined) return String(value);
    if (isArray(value)) return "an array";
    if (typeof value.then === "function") return "a promise: await it";
    return typeof value === "object" ? "an object" : `a ${typeof value}`;
  }

  /** The error of a script, with what to do in place of a name that it does not have. */
  function explained(error) {
    const text = String(error?.message);
    const name = /^'?([\w$]+)'? is not defined$/.exec(text)?.[1] ?? (text.startsWith("require(") ? "require" : "");
    const instead = ABSENT.find(([missing]) => missing.split(" ").includes(name))?.[1];
    if (instead !== undefined) error.message = `${text}: ${instead}`;
    else if (settings.usesArgs && given === undefined && error instanceof TypeError && text.includes("undefined")) {
      error.message = `${text}; the run was given no args`;
    }
    return error;
  }

  /** The error of a script that another one runs, with its place there. */
  function placedIn(name, error) {
    const frames = String(error?.stack).matchAll(/<input>:(\d+):(\d+)/g);
    const frame = Array.from(frames).find(([, line]) => Number(line) > LINES_BEFORE);
    if (frame) error.message = `${error.message} (${named(name)}:${Number(frame[1]) - LINES_BEFORE}:${frame[2]})`;
    return error;
  }

  /** One value for each item; null in place of what throws. */
  async function each(name, list, work) {
    if (!isArray(list)) throw new TypeError(`${name}() takes an array, not ${kindOf(list)}`);
    if (list.length > mostItems) {
      throw new RangeError(`${name}(): ${list.length} items, the limit is ${mostItems}: split the list`);
    }
    const one = async (item, at) => {
      try {
        return (await work(item, at)) ?? null;
      } catch (error) {
        once(`${name}(): item ${at} threw ${named(explained(error))}, and is null`);
        return null;
      }
    };
    return all(Array.from(list, one));
  }

  const parallel = (thunks) => each("parallel", thunks, (thunk) => (typeof thunk === "function" ? thunk() : thunk));

  async function pipeline(items, ...stages) {
    const wrong = stages.findIndex((stage) => typeof stage !== "function");
    if (wrong >= 0) throw new TypeError(`pipeline(): stage ${wrong + 1} is ${kindOf(stages[wrong])}, not a function`);
    return each("pipeline", items, async (item, at) => {
      let value = item;
      for (const stage of stages) value = await stage(value, item, at);
      return value;
    });
  }

  function phase(title) {
    current = named(title);
    print(`— ${current}`);
  }

  const log = (...messages) => print(...messages);

  const counted = (isLimited, rest, spent) => ({
    total: isLimited ? start[rest] : null,
    spent: () => left()[spent] - start[spent],
    remaining: () => (isLimited ? left()[rest] : Infinity),
  });
  const usd = Object.freeze(counted(settings.dollars, "cost_usd", "spent_cost_usd"));
  const money = Object.freeze({ ...counted(settings.tokens, "tokens", "spent_tokens"), usd });

  async function refuseWorkflow() {
    throw new Error("workflow(): a workflow that another one runs cannot run a third");
  }

  async function workflow(reference, args) {
    if (!sourceOf) throw new Error("workflow(): there are no saved workflows here");
    const isName = typeof reference === "string";
    if (!isName && typeof reference?.scriptPath !== "string") {
      throw new TypeError(`workflow() takes a name or { scriptPath }, not ${kindOf(reference)}`);
    }
    const asked = isName ? { name: reference } : { path: reference.scriptPath };
    const { body, name } = await sourceOf(asked).catch((error) => {
      error.message = String(error.message).replace(/^workflow_source failed/, "workflow()");
      throw error;
    });
    const outer = current;
    const made = evaluate(`${"\n".repeat(LINES_BEFORE)}(async (${names.join(", ")}) => {{${body}\n}})`);
    try {
      return await made(agent, parallel, pipeline, phase, log, money, refuseWorkflow, args);
    } catch (error) {
      throw placedIn(name, explained(error));
    } finally {
      current = outer;
    }
  }

  if (settings.isTypeScript) print("the script is TypeScript: its types were left out, and nothing checked them");
  try {
    return (await script(agent, parallel, pipeline, phase, log, money, workflow, given)) ?? null;
  } catch (error) {
    throw explained(error);
  } finally {
    if (unsaid > 0) print(`${unsaid} more lines like these were left out`);
  }
});

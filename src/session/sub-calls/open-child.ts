import { noConversation } from "../../../builtins/index.ts";
import type { Context } from "../../context/index.ts";
import { withFallback } from "../../models/index.ts";
import type { Store } from "../../store/index.ts";
import type { Session } from "../api.ts";
import { storedContext } from "../contexts/contexts.ts";
import { excerptInput, rangesInParent } from "../contexts/excerpts.ts";
import type { Host } from "../env.ts";
import type { SessionEvent } from "../events.ts";
import type { HostedOptions } from "../option-types.ts";
import type { SessionParts } from "../parts.ts";
import type { SessionState } from "../state.ts";
import type { ChildrenParts } from "./children.ts";

/** Opens sessions as the host does. It is handed in, since it stands above what a session is made of. */
export type OpenSession = (options: HostedOptions, host: Host) => Promise<Session>;

/** Opens children with the options and parts of their parent. They read no folders: all that they see is their P. */
export function childOpener(
  { options, env, state }: Pick<SessionParts, "options" | "env" | "state">,
  host: Host,
  openSession: OpenSession,
): ChildrenParts["open"] {
  // Its budget and its models are handed down, and it has no name that a person gave.
  const { store: _folder, session: _name, budget, model, apiKeyEnv, label, onCheckpoint, ...shared } = options;
  const { settings: _settings, job: _job, answersOf: _answersOf, leased: _leased, ...lent } = host;
  return async (name, { callId, request, history, settings, above }) => {
    const { context, delivery = options.delivery } = request;
    const parent = "of" in context ? (history ?? (await storedHistory(env.store, state()))) : state().context;
    const excerpt = excerptInput(context, parent);
    const onProgress = (event: SessionEvent) => {
      if (event.kind === "turn") env.emit({ ...event, path: [callId, ...event.path] });
      if (event.kind === "notice") env.emit(event);
    };
    // Who reads a text for a query has cells, and nothing that the host could lend.
    const { subAgents: { tools: _tools, ...policy } = {} } = options;
    const subAgents = state().account.last?.start.kind === "query" ? { subAgents: policy } : {};
    const session = await openSession(
      {
        ...shared,
        ...subAgents,
        ...(delivery ? { delivery } : {}),
        roots: [],
        functions: {},
        session: name,
        onProgress,
      },
      {
        ...lent,
        ...env,
        above,
        excerpt,
        origin: "child",
        models: withFallback(env.models, settings.sub_model),
        heldContext: (key) => (parent?.key === key ? parent : (host.heldContext?.(key) ?? null)),
      },
    );
    return { session, toCaller: (range) => rangesInParent(excerpt, parent, range) };
  };
}

/** The conversation that the newest exec began with. A cell that gave a place of it to a child has had it stored. */
function storedHistory(store: Store, { account }: SessionState): Promise<Context> {
  const hash = account.last?.start.history_hash;
  if (hash === undefined) throw noConversation();
  return storedContext(store, hash);
}

import { RlmError, remedy } from "../../runtime/index.ts";
import { type BatchAccount, keyVariable } from "../model/index.ts";
import type { Shipping } from "../store/index.ts";
import type { Carrier } from "./carrier.ts";

export interface AccountsParts {
  readonly shipping: Pick<Shipping, "lease" | "release">;
  /** The account of a model, `provider/id`, by the keys of this process. @throws RlmError if there is no key */
  accountOf(model: string): Promise<BatchAccount>;
  carrierOf(account: BatchAccount): Carrier;
}

/** Accounts whose leases this process has, until it gives them back. */
export type Accounts = ReturnType<typeof openAccounts>;

export function openAccounts({ shipping, accountOf, carrierOf }: AccountsParts) {
  /** Fences of the leases, by their accounts. */
  const served = new Map<string, number>();

  /** Gives the leases of all other accounts back. */
  async function keep(accounts: ReadonlySet<string>): Promise<void> {
    const left = [...served.keys()].filter((name) => !accounts.has(name));
    for (const name of left) served.delete(name);
    await Promise.all(left.map((name) => shipping.release(name)));
  }

  /** The client for batches of this model, `provider/id`. Rows of different models may need different headers. */
  async function carrierFor(name: string, model: string): Promise<Carrier> {
    const account = await accountOf(model).catch((error: unknown) => {
      if (!(error instanceof RlmError)) throw error;
      const { message, suggestion, ...cause } = error;
      const problem = `calls of ${model} go by batches of ${name}: ${message}`;
      throw new RlmError("auth_failed", problem, { suggestion, cause });
    });
    if (account.id === name) return carrierOf(account);
    throw anotherAccount(name, model, account.id);
  }

  return {
    /**
     * Takes the lease of an account, and answers its fence. null: another process has it.
     * @param model one that is asked there
     * @throws RlmError `auth_failed` if this process has no key or another one: then nothing is sent
     */
    async serve(name: string, model: string): Promise<number | null> {
      const known = served.get(name);
      if (known !== undefined) return known;
      await carrierFor(name, model);
      const fence = await shipping.lease(name);
      if (fence !== null) served.set(name, fence);
      return fence;
    },
    carrierFor,
    /** Another process may have the lease of this account. */
    lose: (name: string) => void served.delete(name),
    keep,
    [Symbol.asyncDispose]: () => keep(new Set()),
  };
}

const hashIn = (account: string) => account.slice(account.lastIndexOf(" ") + 1);

function anotherAccount(account: string, model: string, own: string): RlmError {
  const isOtherServer = hashIn(account) === hashIn(own);
  const variable = keyVariable(model);
  const cure = isOtherServer
    ? `Name that server again: ${remedy("nameServer")}`
    : `Set ${variable ? `${variable} to ` : ""}the key whose SHA-256 begins with ${hashIn(account)}`;
  return new RlmError("auth_failed", `calls of ${model} go by batches of another key or server (${account})`, {
    suggestion: `${cure}; or ${remedy("giveUpCalls")}.`,
  });
}

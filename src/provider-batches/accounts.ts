import { RlmError, remedy } from "../../runtime/index.ts";
import { type BatchAccount, keyVariable } from "../models/index.ts";
import type { BatchStore } from "../store/index.ts";

export interface AccountsParts {
  readonly batches: Pick<BatchStore, "lease" | "release">;
  /**
   * The account of a model, `provider/id`, by the keys of this process.
   *
   * @throws RlmError if there is no key
   */
  accountOf(model: string): Promise<BatchAccount>;
}

/** Accounts whose leases this process has, until it gives them back. */
export interface Accounts extends AsyncDisposable {
  /** Takes the lease of an account, and returns its fence. null: another process has it. */
  serve(name: string): Promise<number | null>;
  /**
   * The account, as requests of this model, `provider/id`, need it: rows of different models may
   * need different headers.
   *
   * @throws RlmError `auth_failed` if this process has no key or another one, or does not ask the
   *   model: then nothing is sent
   */
  accountFor(name: string, model: string): Promise<BatchAccount>;
  /** Gives the lease of an account back, if this process has it. */
  leave(name: string): Promise<void>;
  /** Gives the leases of all other accounts back. */
  keep(accounts: ReadonlySet<string>): Promise<void>;
}

export function openAccounts({ batches, accountOf }: AccountsParts): Accounts {
  /** Fences of the leases, by their accounts. */
  const served = new Map<string, number>();

  async function keep(accounts: ReadonlySet<string>): Promise<void> {
    const left = [...served.keys()].filter((name) => !accounts.has(name));
    for (const name of left) served.delete(name);
    await Promise.all(left.map((name) => batches.release(name)));
  }

  async function accountFor(name: string, model: string): Promise<BatchAccount> {
    const account = await accountOf(model).catch((error: unknown) => {
      if (!(error instanceof RlmError)) throw error;
      const { message, suggestion, ...cause } = error;
      const problem = `calls of ${model} go by batches of ${name}: ${message}`;
      throw new RlmError("auth_failed", problem, { suggestion, cause });
    });
    if (account.id === name) return account;
    throw anotherAccount(name, model, account.id);
  }

  return {
    async serve(name) {
      const known = served.get(name);
      if (known !== undefined) return known;
      const fence = await batches.lease(name);
      if (fence !== null) served.set(name, fence);
      return fence;
    },
    accountFor,
    async leave(name) {
      if (served.delete(name)) await batches.release(name).catch(() => {});
    },
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

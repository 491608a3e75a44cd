// The forms in which nodes, and older versions of them, write the same answer of the prestateTracer.
import { diffModeOf, type Prestate, type Written } from "./geth-prestate.ts";
import type { Recorded } from "./state-recorder.ts";

type Diff = { pre: Prestate; post: Prestate };

const ZERO_WORD = `0x${"0".repeat(64)}`;

const each = (accounts: Prestate, change: (account: Written, address: string) => Written) =>
  Object.fromEntries(
    Object.entries(accounts).map(([name, account]) => [name, change(account, name)]),
  );

const both = ({ pre, post }: Diff, change: (account: Written) => Written): Diff => ({
  pre: each(pre, change),
  post: each(post, change),
});

const withZeros = (account: Written, other: Written | undefined): Written => {
  const slots = Object.keys({ ...other?.storage, ...account.storage });
  const storage = slots.map((slot) => [slot, account.storage?.[slot] ?? ZERO_WORD] as const);
  return { ...account, storage: Object.fromEntries(storage) };
};

const upper = (hex: string): string => `0x${hex.slice(2).toUpperCase()}`;

export const dialects: Record<string, (diff: Diff) => unknown> = {
  "geth 1.16": (diff) => diff,
  "geth before 1.12: born accounts stand in pre": ({ pre, post }) => ({
    pre: { ...each(post, () => ({ balance: "0x0" })), ...pre },
    post,
  }),
  "erigon: what is gone stands in post, without code": ({ pre, post }) => ({
    pre,
    post: { ...each(pre, () => ({ balance: "0x0", codeHash: ZERO_WORD })), ...post },
  }),
  "nonces as quantities": (diff) =>
    both(diff, (account) => ({
      ...account,
      ...(account.nonce && { nonce: `0x${account.nonce.toString(16)}` }),
    })),
  "no code as 0x, no storage as {}": (diff) => ({
    pre: each(diff.pre, (account) => ({ code: "0x", storage: {}, ...account })),
    post: each(diff.post, (account) => ({ storage: {}, ...account })),
  }),
  "slots of zero are written": ({ pre, post }) => ({
    pre: each(pre, (account, name) => (post[name] ? withZeros(account, post[name]) : account)),
    post: each(post, (account, name) => withZeros(account, pre[name])),
  }),
  "all in post, changed or not": ({ pre, post }) => ({
    pre,
    post: each(post, (account, name) => {
      const { storage: _, codeHash: __, ...before } = pre[name] ?? {};
      return { ...(account.codeHash ? { ...before, code: "0x" } : before), ...account };
    }),
  }),
  "addresses in capitals": ({ pre, post }) => ({ pre: capitals(pre), post: capitals(post) }),
};

const capitals = (accounts: Prestate) =>
  Object.fromEntries(
    Object.entries(accounts).map(([name, { code, ...account }]) => [
      upper(name),
      { ...account, ...(code && { code: upper(code) }) },
    ]),
  );

/** The answer of this node. */
export const answerOf = (dialect: string, { before, after }: Recorded): unknown =>
  dialects[dialect]?.(diffModeOf(before, after));

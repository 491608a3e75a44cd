// One attack in a process of its own: the parent process sends its options as a message.
import type { AttackTarget } from "./attack.ts";
import { type ForwardedStorm, forwardedStorm } from "./forwarded-storm.ts";
import { type UnreadBatches, unreadBatches } from "./unread-batches.ts";

export type Ordered = { readonly target: AttackTarget } & (
  | { readonly kind: "unread batches"; readonly options: UnreadBatches }
  | { readonly kind: "forwarded storm"; readonly options: ForwardedStorm }
);

process.on("message", async (ordered: Ordered & { readonly seconds: number }) => {
  const attack =
    ordered.kind === "unread batches"
      ? unreadBatches(ordered.options)
      : forwardedStorm(ordered.options);
  await attack.run(ordered.target, AbortSignal.timeout(ordered.seconds * 1_000));
  process.exit();
});

// A child's end of its line to the supervisor. When the line is cut the supervisor is gone, and so is the child.
import { endProcess } from "./end-process.ts";
import type { FromChild, ToChild } from "./messages.ts";

export type Channel = {
  send(message: FromChild): void;
  /** Calls `listener` with each message, the first ones too. */
  listen(listener: (message: ToChild) => void): void;
};

/** Messages that wait for the supervisor to take them. */
const MOST_UNSENT = 1_000;

/** @throws When this process was not started by a supervisor. */
export function openChannel(): Channel {
  if (!process.send) throw new Error("this process is started by a gateway, not by hand");
  process.on("disconnect", () => endProcess(1));
  let unsent = 0;
  const onSent = (): void => {
    unsent -= 1;
  };
  return {
    send: (message) => {
      // Who is cut off ends: nobody waits for an answer. What a supervisor that hangs does not take is not kept for it.
      if (!process.connected || unsent >= MOST_UNSENT) return;
      unsent += 1;
      process.send?.(message, undefined, undefined, onSent);
    },
    listen: (listener) => void process.on("message", listener),
  };
}

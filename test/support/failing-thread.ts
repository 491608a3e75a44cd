// The writer thread with faults that a test triggers: `end`, `throw`, `hang`, `fill` its memory.
import { BroadcastChannel } from "node:worker_threads";
import "../../src/chain/thread/thread-main.ts";

const faults: Readonly<Record<string, () => void>> = {
  end: () => process.exit(),
  throw: () => {
    throw new Error("a fault of the thread");
  },
  hang: () => {
    for (;;);
  },
  fill: () => {
    const kept: number[][] = [];
    for (;;) kept.push(Array.from({ length: 10_000 }, (_, index) => index + 0.5));
  },
};

const orders = new BroadcastChannel("faults of the thread that writes");
orders.onmessage = (event) => faults[String((event as { data: unknown }).data)]?.();
orders.unref();

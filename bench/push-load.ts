// Many sockets with many subscriptions, in a process of its own, which notes the arrival of each notification. Takes
// one `PushLoad`, answers when all subscriptions are made, and answers each further message with its figures.
import { once } from "node:events";
import { WebSocket } from "ws";

export type PushLoad = {
  readonly url: string;
  readonly sockets: number;
  /** The parameters of the subscriptions, by socket. */
  readonly subscriptions: readonly (readonly unknown[][])[];
};

export type PushesSeen = {
  /** The block number of each notification, and its arrival in milliseconds since 1970. */
  readonly heads: readonly (readonly [number: number, atMs: number])[];
  readonly logs: readonly (readonly [number: number, atMs: number])[];
  readonly failures: readonly string[];
  /** This process's processor time since all subscriptions were made, in seconds. */
  readonly cpuSeconds: number;
};

const heads: [number, number][] = [];
const logs: [number, number][] = [];
const failures: string[] = [];
let before = process.cpuUsage();

const now = (): number => performance.timeOrigin + performance.now();

process.once("message", (load: PushLoad) => {
  void subscribeAll(load).then(() => {
    before = process.cpuUsage();
    process.send?.("subscribed");
    process.once("message", () => {
      const { user, system } = process.cpuUsage(before);
      const seen: PushesSeen = { heads, logs, failures, cpuSeconds: (user + system) / 1e6 };
      process.send?.(seen);
    });
  });
});

async function subscribeAll({ url, sockets, subscriptions }: PushLoad): Promise<void> {
  const AT_ONCE = 20;
  for (let first = 0; first < sockets; first += AT_ONCE) {
    const some = Array.from({ length: Math.min(AT_ONCE, sockets - first) }, (_, index) =>
      open(url, subscriptions[first + index] ?? []),
    );
    await Promise.all(some);
  }
}

async function open(url: string, subscriptions: readonly unknown[][]): Promise<void> {
  const socket = new WebSocket(url);
  socket.on("close", (code) => failures.push(`closed with ${code}`));
  socket.on("error", (error) => failures.push(String(error)));
  await once(socket, "open");
  let answered = 0;
  const all = new Promise<void>((resolve) => {
    socket.on("message", (data: Buffer) => {
      const atMs = now();
      const text = data.toString("latin1");
      if (text.includes('"method":"eth_subscription"')) return hear(text, atMs);
      answered += 1;
      if (!text.includes('"result"')) failures.push(text);
      if (answered === subscriptions.length) resolve();
      return undefined;
    });
  });
  for (const [id, params] of subscriptions.entries())
    socket.send(JSON.stringify({ jsonrpc: "2.0", id, method: "eth_subscribe", params }));
  await all;
}

function hear(text: string, atMs: number): void {
  const [, name, number] = /"(number|blockNumber)":"(0x[0-9a-f]+)"/.exec(text) ?? [];
  (name === "number" ? heads : logs).push([Number(number), atMs]);
}

import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { setImmediate as turn } from "node:timers/promises";
import { connect as connectTls, TLSSocket } from "node:tls";
import { afterEach, describe, expect, it } from "vitest";
import { Certificates, hasOpenssl } from "../../test/support/certificates.ts";
import { FakeClock } from "../../test/support/fake-clock.ts";
import { SlowReaders } from "./slow-readers.ts";

/** A socket's counts: the bytes that were written, and those that still wait. */
function fakeSocket() {
  const socket = {
    bytesWritten: 0,
    writableLength: 0,
    isCut: false,
    once: () => undefined,
    destroy: () => {
      socket.isCut = true;
    },
  };
  return socket;
}

/** Advances the clock by so many seconds, in each of which the caller takes `taken` bytes while `waiting` bytes wait. */
async function read(
  { seconds, taken, waiting = 1_000_000 }: { seconds: number; taken: number; waiting?: number },
  { socket, clock }: { socket: ReturnType<typeof fakeSocket>; clock: FakeClock },
): Promise<void> {
  for (let second = 0; second < seconds; second += 1) {
    socket.bytesWritten += taken;
    socket.writableLength = waiting;
    await clock.advance(1_000);
  }
}

const start = () => {
  const clock = new FakeClock();
  let cut = 0;
  const onCut = (): void => {
    cut += 1;
  };
  const readers = new SlowReaders({ bytesPerSecond: 1_000, overMs: 30_000 }, { clock, onCut });
  const socket = fakeSocket();
  readers.watch(socket as unknown as Socket);
  return { clock, socket, readers, cut: () => cut };
};

describe("slow readers", () => {
  it.each([
    { what: "takes nothing", taken: 0, isCut: true },
    { what: "takes less than the floor", taken: 900, isCut: true },
    { what: "takes more", taken: 1_100, isCut: false },
  ])("who $what is cut off: $isCut", async ({ taken, isCut }) => {
    const { clock, socket, cut } = start();
    await read({ seconds: 50, taken }, { socket, clock });
    expect([socket.isCut, cut()]).toEqual([isCut, isCut ? 1 : 0]);
  });

  it("are not cut off before their time", async () => {
    const { clock, socket } = start();
    await read({ seconds: 29, taken: 0 }, { socket, clock });
    expect(socket.isCut).toBe(false);
  });

  it("are those for whom something waits: an idle connection is none", async () => {
    const { clock, socket } = start();
    await read({ seconds: 100, taken: 0, waiting: 0 }, { socket, clock });
    expect(socket.isCut).toBe(false);
  });
});

describe("a caller who takes a part of what was written at once", () => {
  const closes: (() => void)[] = [];
  afterEach(() => {
    for (const close of closes.splice(0)) close();
  });
  const WRITTEN = 33_554_432;
  /** In bytes: more than the buffers of both systems hold. */
  const PART = 25_165_824;

  /** Opens a connection. @returns Both ends. */
  async function connected(): Promise<readonly [server: Socket, caller: Socket]> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const caller = connect((server.address() as AddressInfo).port, "127.0.0.1");
    const [socket] = (await once(server, "connection")) as [Socket];
    closes.push(
      () => caller.destroy(),
      () => socket.destroy(),
      () => server.close(),
    );
    return [socket, caller];
  }

  async function secured(): Promise<readonly [server: Socket, caller: Socket, carrier: Socket]> {
    const [carrier, below] = await connected();
    const made = new Certificates();
    closes.push(() => made.remove());
    made.authority("any");
    const { certificate, key } = made.signed("here", "any");
    const secrets = { cert: made.read(certificate), key: made.read(key) };
    const server = new TLSSocket(carrier, { isServer: true, ...secrets });
    const caller = connectTls({ socket: below, rejectUnauthorized: false });
    await Promise.all([once(server, "secure"), once(caller, "secureConnect")]);
    return [server, caller, carrier];
  }

  it.each([
    { over: "TCP", open: connected },
    ...(hasOpenssl ? [{ over: "TLS", open: secured }] : []),
  ])("is cut off only when it stops, over $over", async ({ open }) => {
    const { clock, readers } = start();
    const [socket, caller, carrier] = await open();
    readers.watch(socket, carrier);
    socket.on("error", () => undefined).write(Buffer.alloc(WRITTEN));
    await clock.advance(10_000);
    let taken = 0;
    while (taken < PART) {
      const part = caller.read() as Buffer | null;
      if (part) taken += part.length;
      else await once(caller, "readable");
    }
    await clock.advance(31_000);
    expect([socket.destroyed, socket.writableLength]).toEqual([false, WRITTEN]);
    while (!socket.destroyed) {
      await clock.advance(31_000);
      await turn();
    }
  });
});

import type { Socket } from "node:net";
import { describe, expect, it } from "vitest";
import { FakeClock } from "../../test/support/fake-clock.ts";
import { SlowReaders } from "./slow-readers.ts";

/** A connection as it looks from here: what was written, and what of it waits. */
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

/** So many seconds, in each of which so many bytes are taken of the megabyte that waits. */
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
  return { clock, socket, cut: () => cut };
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

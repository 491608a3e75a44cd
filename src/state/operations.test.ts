import { beforeEach } from "vitest";
import { MemoryState } from "../../test/support/memory-state.ts";
import { describeStateContract } from "../../test/support/state-contract.ts";
import { systemClock } from "../lib/clock.ts";

let state: MemoryState;

beforeEach(() => {
  state = new MemoryState({ clock: systemClock });
});

describeStateContract("A state in memory", () => state);

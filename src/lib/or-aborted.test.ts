import { expect, it } from "vitest";
import { orAborted } from "./or-aborted.ts";

const why = (): Error => new Error("too late");
const never = new Promise<never>(() => undefined);

it("gives what the promise gives, or throws what it throws", async () => {
  const { signal } = new AbortController();
  expect(await orAborted(Promise.resolve(1), signal, why)).toBe(1);
  await expect(orAborted(Promise.reject(new Error("no")), signal, why)).rejects.toThrow("no");
});

it("ends with the signal, also with one that was aborted before", async () => {
  const controller = new AbortController();
  const ended = expect(orAborted(never, controller.signal, why)).rejects.toThrow("too late");
  controller.abort();
  await ended;
  const tooLate = Promise.reject(new Error("no"));
  await expect(orAborted(tooLate, controller.signal, why)).rejects.toThrow("too late");
});

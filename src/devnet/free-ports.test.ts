import { createServer } from "node:net";
import { expect, it } from "vitest";
import { freePorts } from "./free-ports.ts";

it("each name gets a port of its own, that nobody uses", async () => {
  const ports = await freePorts("a", "b", "c");
  expect(new Set(Object.values(ports)).size).toBe(3);
  const server = createServer();
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject).listen(ports.b, "127.0.0.1", resolve);
  });
  await new Promise((resolve) => server.close(resolve));
});
